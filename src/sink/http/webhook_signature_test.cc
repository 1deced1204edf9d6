#include <gtest/gtest.h>

#include "sink/http/signature.h"
#include "tests/support/matchers.h"

namespace outbox::sink {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The example of the Standard Webhooks specification.
constexpr std::string_view kSpecificationSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

TEST(WebhookSignature, IsThatOfTheSpecificationsExample) {
  const auto secret = WebhookSecret::Parse(kSpecificationSecret);
  ASSERT_OK(secret);
  EXPECT_EQ(secret->Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, R"({"test": 2432232314})"),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(WebhookSignature, RefusesSecretsThatAreNone) {
  const auto of_bytes = [](std::size_t count) {
    return "whsec_" + Base64(std::string(count, 'k'));
  };
  for (const std::size_t good : {24u, 25u, 26u, 32u, 64u}) {
    EXPECT_OK(WebhookSecret::Parse(of_bytes(good)));
  }
  for (const std::string& bad :
       {std::string(""), std::string("whsec_"), of_bytes(23), of_bytes(65), of_bytes(24).substr(6),
        of_bytes(24) + "\n", of_bytes(24) + "    ", of_bytes(24) + "!!!!",
        "whsec_" + std::string(32, '-'), std::string("whsec_") + std::string(2000, 'A')}) {
    const auto secret = WebhookSecret::Parse(bad);
    EXPECT_THAT(secret, HasCode(Code::kInvalidArgument)) << bad;
    if (bad.size() > 6) {
      EXPECT_THAT(secret.error().message(), Not(HasSubstr(bad.substr(6))));
    }
  }
}

TEST(WebhookSignature, HexAndBase64) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("a"), "YQ==");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace outbox::sink
