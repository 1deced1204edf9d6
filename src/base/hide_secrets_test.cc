#include "base/hide_secrets.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "base/text.h"

namespace outbox::base {
namespace {

std::string HideSettings(std::string_view text) {
  return HideSecretSettings(text, SettingForm::kAssignedOrNamed);
}

TEST(HideUrlPasswords, HidesUpToTheHost) {
  EXPECT_EQ(HideUrlPasswords("amqp://u:pw@h/ and redis://:p@ss@h/0"),
            "amqp://u:***@h/ and redis://:***@h/0");
  EXPECT_EQ(HideUrlPasswords("redis://:p/s@h/0"), "redis://:***@h/0");
  EXPECT_EQ(HideUrlPasswords("a://b:c://d:e@f"), "a://b:***@f");
  for (const char* plain :
       {"", "://", "http://host:80/path", "http://u@h", "http://u:p h@x", "mail to a:b@c"}) {
    EXPECT_EQ(HideUrlPasswords(plain), plain);
  }
}

TEST(HideSecretSettings, KnowsNamesInAnyCaseAndSpelling) {
  EXPECT_EQ(HideSettings("PGPASSWORD=x Api-Key: y; apikey=z&access_key=w"),
            "PGPASSWORD=*** Api-Key: ***; apikey=***&access_key=***");
  EXPECT_EQ(HideSettings("api--key=x keys=y pass=z"), "api--key=x keys=y pass=z");
}

TEST(HideSecretSettings, HidesTheWholeValue) {
  EXPECT_EQ(HideSettings(R"(token = "a b" secret='c d' pwd="e f)"),
            "token = *** secret=*** pwd=*** f");
  EXPECT_EQ(HideSettings(R"({"signature" : "x"})"), R"({"signature" : ***})");
  EXPECT_EQ(HideSettings("Authorization: Basic  dTpw; x"), "Authorization: ***; x");
  EXPECT_EQ(HideSettings("Authorization: Token abc, x"), "Authorization: *** x");
  EXPECT_EQ(HideSettings("proxy-authorization: ApiKey abc"), "proxy-authorization: ***");
  EXPECT_EQ(HideSettings(R"({"password":"a\"b c"} x)"), R"({"password":***} x)");
  EXPECT_EQ(HideSettings(R"({\"password\":\"a b\"} x)"), R"({\"password\":***} x)");
  EXPECT_EQ(HideSettings(R"({\"password\":\"a\\\"b c\"} x)"), R"({\"password\":***} x)");
  EXPECT_EQ(HideSettings(R"({"password":"a\\"} x)"), R"({"password":***} x)");
  EXPECT_EQ(HideSettings(R"({'password': 'a b'} x)"), R"({'password': ***} x)");
  EXPECT_EQ(HideSettings("token: bearer ;"), "token: *** ;");
  EXPECT_EQ(HideSettings("token= ; token"), "token= ; token");
}

TEST(HideSecretSettings, MayTakeAssignmentsOnly) {
  EXPECT_EQ(HideSecretSettings("password: is given, token=x", SettingForm::kAssigned),
            "password: is given, token=***");
}

// Each of these was a stack overflow, or took time with the square of its length.
TEST(HideSecrets, TakesTextsOfAnyLength) {
  constexpr std::size_t kBytes = std::size_t{2} << 20;
  const std::array<std::string_view, 12> parts{
      "token=\\\"", "token='\\", "authorization: a ", "://:", "://a:", "token=", "token=\"",
      "token ",     "token= ;",  "password=bearer ",  "p",    " "};
  for (const std::string_view part : parts) {
    std::string text = "http://";
    while (text.size() < kBytes) text += part;
    EXPECT_FALSE(CleanError(text, kBytes).empty()) << part;
    EXPECT_FALSE(CleanText(text, kBytes).empty()) << part;
  }
  const std::string link = StrCat("link: https://", std::string(kBytes, 'a'));
  EXPECT_EQ(CleanError(link, 2 * kBytes), link);
  EXPECT_EQ(CleanError(StrCat("http://u:", std::string(kBytes, 'a'), "@h"), kBytes),
            "http://u:***@h");
}

}  // namespace
}  // namespace outbox::base
