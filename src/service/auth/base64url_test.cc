#include "service/auth/base64url.h"

#include <gtest/gtest.h>

namespace outbox::service {
namespace {

TEST(Base64Url, WritesWhatItReads) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    const std::string text = Base64UrlEncode(bytes);
    EXPECT_EQ(
        text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
        std::string::npos);
    EXPECT_EQ(Base64UrlDecode(text), bytes);
    bytes += static_cast<char>(i * 7);
  }
}

TEST(Base64Url, IsThatOfTheStandard) {
  EXPECT_EQ(Base64UrlEncode("f"), "Zg");
  EXPECT_EQ(Base64UrlEncode("fo"), "Zm8");
  EXPECT_EQ(Base64UrlEncode("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64UrlEncode("\xfb\xff"), "-_8");
}

TEST(Base64Url, RefusesOtherSpellings) {
  EXPECT_EQ(Base64UrlDecode("Zg"), "f");
  for (const std::string text : {"Zh", "Zm9", "Z", "Zg==", "Zg=", " Zg", "Zg ", "Z\ng", "+_8",
                                 "-/8", "Zm9vY", "Zg.", "Z\xC3\xA4"}) {
    EXPECT_EQ(Base64UrlDecode(text), std::nullopt) << text;
  }
  EXPECT_EQ(Base64UrlDecode(std::string("Zg\0A", 4)), std::nullopt);
}

}  // namespace
}  // namespace outbox::service
