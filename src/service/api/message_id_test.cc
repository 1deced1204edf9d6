// What the answer to a repair says that was not done.
#include "service/api/message_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace outbox::service {
namespace {

using ::testing::HasSubstr;
using Outcome = store::RepairResult::Outcome;

std::string RetryRefused(int attempts) {
  store::StoredMessage before;
  before.message.attempt = attempts;
  const store::RepairResult result{.outcome = Outcome::kRefused, .status = MessageStatus::kPending};
  return RepairStatus(result, "retried", "failed or dead", &before).message();
}

TEST(RepairStatus, AFailedMessageThatSomebodyHoldsIsInUse) {
  EXPECT_THAT(RetryRefused(1), HasSubstr("in use just now"));
}

TEST(RepairStatus, AMessageThatWasNeverTriedIsPending) {
  EXPECT_THAT(RetryRefused(0), HasSubstr("is pending; only failed or dead"));
}

}  // namespace
}  // namespace outbox::service
