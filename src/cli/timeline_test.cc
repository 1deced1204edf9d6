#include "cli/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace outbox::cli {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using store::AttemptResult;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Timestamp kStart{hours(500'000)};

store::Attempt Tried(int millis, std::string destination, AttemptResult result,
                     std::string error_class = "", std::string error = "") {
  return {.destination = std::move(destination),
          .attempt = 1,
          .worker = "w",
          .started_at = kStart + milliseconds(millis),
          .ended_at = kStart + milliseconds(millis + 100),
          .result = result,
          .error_class = std::move(error_class),
          .error = std::move(error)};
}

// The rows below the header.
std::vector<std::string> Lines(const std::vector<store::Attempt>& attempts) {
  store::StoredMessage stored;
  stored.message.created_at = kStart;
  std::vector<std::string> lines = base::Split(Timeline(stored, attempts).TabSeparated(), '\n');
  lines.erase(lines.begin());
  lines.pop_back();
  return lines;
}

TEST(Timeline, FollowsTheTimesItShows) {
  EXPECT_THAT(
      Lines({Tried(20, "slow", AttemptResult::kDelivered),
             Tried(10, "quick", AttemptResult::kDelivered),
             Tried(20, "late", AttemptResult::kDelivered)}),
      ElementsAre(HasSubstr("enqueued"), HasSubstr("quick"), HasSubstr("slow"), HasSubstr("late")));
}

TEST(Timeline, SaysWhyARetryableErrorWasTheLast) {
  EXPECT_THAT(
      Lines({Tried(1, "", AttemptResult::kRetry, "retry", "busy"),
             Tried(2, "", AttemptResult::kDead, "retry", "busy"),
             Tried(3, "", AttemptResult::kDead, "permanent", "no"),
             Tried(4, "", AttemptResult::kReleased, "sink_down", "away")}),
      ElementsAre(HasSubstr("enqueued"), HasSubstr("\tbusy"), HasSubstr("\tno attempt left: busy"),
                  HasSubstr("\tpermanent: no"), HasSubstr("\tsink_down: away")));
}

TEST(Timeline, IsEmptyWithoutAttempts) { EXPECT_TRUE(Timeline({}, {}).empty()); }

}  // namespace
}  // namespace outbox::cli
