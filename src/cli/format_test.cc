#include "cli/format.h"

#include <gtest/gtest.h>

namespace outbox::cli {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Format, CountsHaveSeparators) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1'000), "1,000");
  EXPECT_EQ(FormatCount(1'234'567), "1,234,567");
  EXPECT_EQ(FormatCount(1'234'567, true), "~1,234,567");
}

TEST(Format, SpansShowTheTwoLargestUnits) {
  EXPECT_EQ(FormatSpan(milliseconds(850)), "850ms");
  EXPECT_EQ(FormatSpan(milliseconds(12'900)), "12s");
  EXPECT_EQ(FormatSpan(seconds(185)), "3m 5s");
  EXPECT_EQ(FormatSpan(hours(2)), "2h");
  EXPECT_EQ(FormatSpan(hours(97) + minutes(30)), "4d 1h");
}

TEST(Format, AgesLookBothWays) {
  const Timestamp now{hours(1000)};
  EXPECT_EQ(FormatAge(now - seconds(185), now), "3m 5s ago");
  EXPECT_EQ(FormatAge(now + hours(2), now), "in 2h");
  EXPECT_EQ(FormatAge(now, now), "now");
  EXPECT_EQ(FormatAge(Timestamp::min(), now), "long ago");
  EXPECT_EQ(FormatAge(Timestamp::max(), now), "never");
}

TEST(Format, OneIsSingular) {
  EXPECT_EQ(Plural(1, "message"), "1 message");
  EXPECT_EQ(Plural(2'000, "message"), "2,000 messages");
}

}  // namespace
}  // namespace outbox::cli
