#include "relay/reconnect.h"

#include <gtest/gtest.h>

namespace outbox::relay {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class FixedRandom final : public base::Random {
 public:
  explicit FixedRandom(double unit) : unit_(unit) {}
  double Unit() override { return unit_; }

 private:
  const double unit_;
};

struct Outage {
  int attempts = 0;
  Reconnect::Duration longest_wait{};
};

// What happens to a relay whose attempts fail at once, from `from` to `to` of the outage.
Outage Play(Reconnect reconnect, double unit, Reconnect::Duration from, Reconnect::Duration to) {
  FixedRandom random(unit);
  Outage outage;
  Reconnect::Duration at{};
  while (at < to) {
    const auto wait = reconnect.Next(Reconnect::TimePoint(at), random);
    if (at >= from) {
      ++outage.attempts;
      outage.longest_wait = std::max(outage.longest_wait, wait);
    }
    at += wait;
  }
  return outage;
}

TEST(Reconnect, LeavesHalfOfTheCapForConnectingWhileTheOutageIsYoung) {
  for (const double unit : {0.0, 0.5, 1.0}) {
    const Outage young = Play(Reconnect(seconds(1)), unit, seconds(0), minutes(1));
    EXPECT_LE(young.longest_wait, milliseconds(500)) << unit;
    EXPECT_GE(young.attempts, 120) << unit;
    EXPECT_LE(young.attempts, 250) << unit;
  }
}

TEST(Reconnect, AsksMoreRarelyAfterAMinuteButNotWithoutBound) {
  for (const double unit : {0.0, 1.0}) {
    const Outage old = Play(Reconnect(seconds(1)), unit, minutes(1), minutes(10));
    EXPECT_LE(old.longest_wait, milliseconds(2500)) << unit;
    EXPECT_GE(old.longest_wait, milliseconds(1250)) << unit;
  }
}

TEST(Reconnect, KeepsToACapThatWasSet) {
  EXPECT_LE(Play(Reconnect(milliseconds(100)), 1.0, seconds(0), minutes(1)).longest_wait,
            milliseconds(50));
  EXPECT_GE(Play(Reconnect(seconds(20)), 0.0, seconds(0), minutes(1)).longest_wait, seconds(5));
}

TEST(Reconnect, BeginsAnewAfterASuccess) {
  FixedRandom random(1.0);
  Reconnect reconnect;
  EXPECT_FALSE(reconnect.since());
  const Reconnect::TimePoint start{};
  const auto first = reconnect.Next(start, random);
  for (int i = 1; i < 20; ++i) reconnect.Next(start + minutes(i), random);
  EXPECT_EQ(reconnect.since(), start);
  reconnect.Reset();
  EXPECT_FALSE(reconnect.since());
  EXPECT_EQ(reconnect.Next(start + minutes(30), random), first);
}

TEST(Reconnect, SpreadsRelaysThatLostTheirDatabaseTogether) {
  FixedRandom low(0.0);
  FixedRandom high(1.0);
  Reconnect one;
  Reconnect other;
  EXPECT_LT(one.Next({}, low), other.Next({}, high));
}

}  // namespace
}  // namespace outbox::relay
