#include "outbox/retry.h"

#include <gtest/gtest.h>

namespace outbox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RetryPolicy, DoublesFromBaseToCap) {
  RetryPolicy policy{.base = seconds(1), .cap = seconds(60), .jitter = Jitter::kNone};
  EXPECT_EQ(policy.DelayAfter(1, 0), seconds(1));
  EXPECT_EQ(policy.DelayAfter(2, 0), seconds(2));
  EXPECT_EQ(policy.DelayAfter(6, 0), seconds(32));
  EXPECT_EQ(policy.DelayAfter(7, 0), seconds(60));
  EXPECT_EQ(policy.DelayAfter(1'000'000, 0), seconds(60));
}

TEST(RetryPolicy, AdditiveJitterAddsUpToItsMaximum) {
  RetryPolicy policy{.base = seconds(1), .cap = seconds(60), .jitter = Jitter::kAdditive};
  EXPECT_EQ(policy.DelayAfter(1, 0), seconds(1));
  EXPECT_EQ(policy.DelayAfter(1, 0.999999), milliseconds(1200));
  EXPECT_EQ(policy.DelayAfter(7, 0.5), milliseconds(60'100));
}

TEST(RetryPolicy, EqualJitterLiesBetweenHalfAndWhole) {
  RetryPolicy policy{.base = seconds(1), .cap = seconds(60), .jitter = Jitter::kEqual};
  EXPECT_EQ(policy.DelayAfter(1, 0), milliseconds(500));
  EXPECT_EQ(policy.DelayAfter(1, 0.999999), milliseconds(1000));
  EXPECT_EQ(policy.DelayAfter(7, 0), seconds(30));
}

TEST(RetryPolicy, ScheduleEndsInItsLastEntryForEver) {
  RetryPolicy policy{.jitter = Jitter::kNone,
                     .schedule = {seconds(0), seconds(1), seconds(2), seconds(5), seconds(15),
                                  seconds(60), seconds(300), seconds(900)},
                     .attempts_max = std::nullopt};
  EXPECT_EQ(policy.DelayAfter(1, 0), seconds(0));
  EXPECT_EQ(policy.DelayAfter(5, 0), seconds(15));
  EXPECT_EQ(policy.DelayAfter(8, 0), seconds(900));
  EXPECT_EQ(policy.DelayAfter(500, 0), seconds(900));
  EXPECT_FALSE(policy.Exhausted(1'000'000));
}

TEST(RetryPolicy, IsExhaustedAtExactlyItsMaximum) {
  RetryPolicy policy{.attempts_max = 3};
  EXPECT_FALSE(policy.Exhausted(2));
  EXPECT_TRUE(policy.Exhausted(3));
}

}  // namespace
}  // namespace outbox
