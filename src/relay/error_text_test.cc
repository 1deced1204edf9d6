#include "relay/error_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
