#include "message/payload_echo.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "tests/support/echoes.h"

namespace outbox::message {
namespace {

using base::StrCat;
using outbox::testing::Echo;
using outbox::testing::EchoesOf;

bool Repeats(std::string_view text, std::string_view payload) {
  PayloadEcho echo;
  const std::size_t number = echo.Add(text);
  echo.Look(payload);
  return echo.Repeats(number);
}

constexpr std::string_view kPayload =
    R"({"customer":"Ada \"Countess\" L\u00f6velace","card":"4111-1111-1111-1111","note":"100% a&b"})";

TEST(PayloadEcho, KnowsAPayloadHoweverItIsWritten) {
  for (const Echo& echo : EchoesOf(kPayload)) {
    EXPECT_TRUE(Repeats(echo.text, kPayload)) << echo.form << ": " << echo.text;
    EXPECT_TRUE(Repeats(StrCat("bad request: ", echo.text, " was refused"), kPayload)) << echo.form;
    EXPECT_FALSE(Repeats(echo.text, R"({"quite":"another payload, which is as long as this"})"))
        << echo.form << ": " << echo.text;
  }
}

TEST(PayloadEcho, TakesARunOfItsLengthAndNoShorterOne) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  for (std::size_t run = 1; run + 3 <= letters.size(); ++run) {
    PayloadEcho echo(run);
    const std::size_t same = echo.Add(StrCat("~~", letters.substr(3, run), "~~"));
    const std::size_t less = echo.Add(StrCat("~~", letters.substr(3, run - 1), "~~"));
    echo.Look(StrCat("{\"x\":\"", letters, letters, "\"}"));
    EXPECT_TRUE(echo.Repeats(same)) << run;
    EXPECT_FALSE(echo.Repeats(less)) << run;
  }
}

TEST(PayloadEcho, IdsAndKnownWordsMayBeMentioned) {
  const std::string topic = "orders.order.was.created.somewhere.v1";
  const std::string payload =
      StrCat(R"({"order":"01890a5d-ac96-774b-bcce-b302099a8057","type":")", topic, "\"}");
  EXPECT_FALSE(Repeats("order 01890a5d-ac96-774b-bcce-b302099a8057 is unknown", payload));
  const std::string text = StrCat("no route for ", topic, " here");
  EXPECT_TRUE(Repeats(text, payload));
  const std::vector<std::string_view> known{topic, "o"};
  PayloadEcho echo;
  const std::size_t mentioned = echo.Add(text, known);
  const std::size_t quoted = echo.Add(StrCat(payload.substr(0, 8), payload), known);
  echo.Look(payload);
  EXPECT_FALSE(echo.Repeats(mentioned));
  EXPECT_FALSE(echo.Repeats(quoted)) << "nothing is left of it but what may be mentioned";
}

TEST(PayloadEcho, ShortKnownWordsDoNotTearAQuoteApart) {
  const std::string payload = R"({"name":"a passage of the payload that is quoted"})";
  const std::vector<std::string_view> known{"a", "e", "the", "quoted"};
  PayloadEcho echo;
  const std::size_t quoted = echo.Add(payload, known);
  echo.Look(payload);
  EXPECT_TRUE(echo.Repeats(quoted));
}

TEST(PayloadEcho, FindsThePayloadOfAnotherMessage) {
  PayloadEcho echo;
  std::vector<std::size_t> numbers;
  std::vector<std::string> payloads;
  for (int i = 0; i < 100; ++i) {
    payloads.push_back(StrCat(R"({"payload number )", 1000 + i, R"( of all":"of them"})"));
    numbers.push_back(echo.Add(i % 2 == 0 ? StrCat("it was ", payloads[static_cast<std::size_t>(i)])
                                          : StrCat("refused, code ", i)));
  }
  for (const std::string& payload : payloads) echo.Look(payload);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(echo.Repeats(numbers[i]), i % 2 == 0) << i;
  }
}

TEST(PayloadEcho, TakesTextsThatAreNone) {
  for (const char* text : {"", "\\", "\\u", "\\u12", "%", "%4", "&", "&#", "&#x", "&#99999999999;",
                           "&#1114112;", "\\ud800\\ud800", "\\udfff", "====", "\x01\xff\x80"}) {
    EXPECT_FALSE(Repeats(text, text)) << text;
  }
}

}  // namespace
}  // namespace outbox::message
