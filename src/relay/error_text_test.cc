#include "relay/error_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "message/hide_payload.h"
#include "tests/support/echoes.h"

namespace outbox::relay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Status Failure(std::string text) { return Status::Retry(Code::kRejected, std::move(text)); }

TEST(ErrorText, NeverContainsThePayloadThatAHandlerQuotes) {
  Message message;
  message.payload = R"({"card":"4111-1111-1111-1111","name":"CANARY"})";
  const std::string text =
      ErrorText(Failure("can not parse " + message.payload + "!"), message, 2048);
  EXPECT_EQ(text, "can not parse [payload]!");
}

TEST(ErrorText, NeverContainsALongPassageOfThePayload) {
  Message message;
  message.payload = R"({"a":1,"text":")" + std::string(500, 'x') +
                    R"(CANARY and more of the same text that is private","b":2})";
  const std::string quoted = message.payload.substr(200, 400);
  const std::string text = ErrorText(Failure("near '" + quoted + "' oops"), message, 2048);
  EXPECT_THAT(text, Not(HasSubstr("CANARY")));
  EXPECT_THAT(text, HasSubstr("oops"));
}

TEST(ErrorText, KnowsThePayloadInsideAJsonString) {
  Message message;
  message.payload = R"({"card":"4111","name":"CANARY","street":"Am Hang","city":"Ulm"})";
  const std::string echo =
      nlohmann::json{{"error", "unknown card"}, {"body", message.payload}}.dump();
  const std::string text = ErrorText(Failure(echo), message, 2048);
  EXPECT_THAT(text, Not(HasSubstr("CANARY")));
  EXPECT_THAT(text, HasSubstr("unknown card"));
}

TEST(ErrorText, ACutLeavesNothingOfThePayload) {
  Message message;
  message.payload = R"({"name":"CANARY"})";
  std::string quotes;
  while (quotes.size() < 10'000) quotes += message.payload;
  EXPECT_THAT(ErrorText(Failure(quotes), message, 2048), Not(HasSubstr("CAN")));
}

TEST(CleanFailures, ATextInCommonQuotesNoneOfItsMessages) {
  std::vector<Message> messages(3);
  messages[0].payload = R"({"name":"CANARY-0"})";
  messages[1].payload = R"({"name":"CANARY-1"})";
  messages[2].payload = R"({"name":"CANARY-2"})";
  const std::string echo = "bad: [" + messages[0].payload + "," + messages[1].payload + "]";
  std::vector<Status> results{
      Failure(echo).WithNative("HTTP 400").WithHint("look").WithRetryAfter(std::chrono::seconds(3)),
      Failure(echo), Status::Ok()};
  CleanFailures(messages, results, 2048);
  for (const Status& result : {results[0], results[1]}) {
    EXPECT_EQ(result.message(), "bad: [[payload],[payload]]");
    EXPECT_EQ(result.code(), Code::kRejected);
    EXPECT_EQ(result.disposition(), Disposition::kRetry);
  }
  EXPECT_EQ(results[0].native(), "HTTP 400");
  EXPECT_EQ(results[0].hint(), "look");
  EXPECT_EQ(results[0].retry_after(), std::chrono::seconds(3));
  EXPECT_TRUE(results[2].ok());
}

TEST(CleanFailures, NoTextRepeatsAnyMessageOfTheCallInAnyForm) {
  std::vector<Message> messages(2);
  messages[0].payload = R"({"name":"CANARY \"A\" of one tenant","iban":"DE02120300000000202051"})";
  messages[1].payload = R"({"name":"CANARY <B> of another","iban":"DE02500105170137075030"})";
  for (const Message& quoted : messages) {
    for (const outbox::testing::Echo& echo : outbox::testing::EchoesOf(quoted.payload)) {
      const std::string text = "cannot take " + echo.text;
      std::vector<Status> results{Failure(text).WithHint(text).WithNative(text),
                                  Failure("there is no queue for it").WithNative("404")};
      CleanFailures(messages, results, 2048);
      for (const std::string& said :
           {results[0].message(), results[0].hint(), results[0].native()}) {
        EXPECT_THAT(said, ::testing::AnyOf(message::kRepeatsPayload, HasSubstr("[payload]")))
            << echo.form;
        EXPECT_THAT(said, Not(HasSubstr(echo.text.substr(0, 30)))) << echo.form;
      }
      EXPECT_EQ(results[1].ToString(), "there is no queue for it (404)");
    }
  }
}

TEST(CleanFailures, MayNameTheTopicAndTheKeyThatThePayloadHasToo) {
  std::vector<Message> messages(1);
  messages[0].topic = "family-hub.members.family-member-invited.v1";
  messages[0].key = "customer-1000200030004000";
  messages[0].payload = R"({"type":"family-hub.members.family-member-invited.v1",)"
                        R"("customer":"customer-1000200030004000"})";
  const std::string text = "no route for " + messages[0].topic + " with the key " + messages[0].key;
  std::vector<Status> results{Failure(text)};
  CleanFailures(messages, results, 2048);
  EXPECT_EQ(results[0].message(), text);
}

TEST(ErrorText, MayMentionIds) {
  Message message;
  message.payload = R"({"order":"01890a5d-ac96-774b-bcce-b302099a8057"})";
  EXPECT_EQ(
      ErrorText(Failure("order 01890a5d-ac96-774b-bcce-b302099a8057 is unknown"), message, 2048),
      "order 01890a5d-ac96-774b-bcce-b302099a8057 is unknown");
}

TEST(ErrorText, IsCutAndFreeOfSecrets) {
  Message message;
  message.payload = "{}";
  const std::string text = ErrorText(
      Failure("amqp://u:hunter2@h password=hunter2 " + std::string(10'000, 'y')), message, 2048);
  EXPECT_LE(text.size(), 2048U);
  EXPECT_THAT(text, Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace outbox::relay
