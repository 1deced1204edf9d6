#include "bench/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/figure.h"
#include "bench/scratch.h"

namespace outbox::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Figure Drain(std::vector<double> ours, std::vector<double> theirs, Bar bar) {
  return {.scenario = "drain",
          .store = "PostgreSQL",
          .what = "lease <kept>",
          .unit = "events/s",
          .rounds = std::move(ours),
          .against = "loop",
          .baseline = std::move(theirs),
          .bar = bar};
}

TEST(Summarise, TakesTheMedianOfOddAndEvenCounts) {
  EXPECT_DOUBLE_EQ(Summarise({5, 1, 3}).median, 3);
  EXPECT_DOUBLE_EQ(Summarise({4, 1, 3, 2}).median, 2.5);
  EXPECT_DOUBLE_EQ(Summarise({5, 1, 3}).min, 1);
  EXPECT_DOUBLE_EQ(Summarise({5, 1, 3}).max, 5);
}

TEST(Percentile, IsASampleAndNeverAnInterpolation) {
  std::vector<double> samples;
  for (int i = 100; i >= 1; --i) samples.push_back(i);
  EXPECT_DOUBLE_EQ(Percentile(samples, 0.5), 50);
  EXPECT_DOUBLE_EQ(Percentile(samples, 0.99), 99);
  EXPECT_DOUBLE_EQ(Percentile(samples, 1), 100);
  std::vector<double> one{7};
  EXPECT_DOUBLE_EQ(Percentile(one, 0.01), 7);
}

TEST(Figure, ComparesRoundByRoundSoThatASlowRoundCancelsOut) {
  // Medians alone would say 100 / 50 = 2.
  const Figure figure = Drain({10, 100, 1000}, {20, 200, 50}, Bar::AtLeast(1));
  EXPECT_DOUBLE_EQ(figure.ratio()->median, 0.5);
  EXPECT_FALSE(*figure.passed());
}

TEST(Figure, BarIsForTheRatioWhereThereIsOneAndForTheValueOtherwise) {
  EXPECT_TRUE(*Drain({90}, {100}, Bar::AtLeast(0.85)).passed());
  EXPECT_FALSE(*Drain({80}, {100}, Bar::AtLeast(0.85)).passed());
  Figure alone = Drain({12}, {}, Bar::AtMost(15));
  EXPECT_TRUE(*alone.passed());
  alone.rounds = {16};
  EXPECT_FALSE(*alone.passed());
  alone.bar.reset();
  EXPECT_FALSE(alone.passed().has_value());
}

TEST(Report, TableSaysWhichBarWasMissed) {
  Report report;
  report.figures = {Drain({90}, {100}, Bar::AtLeast(0.85)), Drain({80}, {100}, Bar::AtLeast(0.85))};
  EXPECT_FALSE(report.AllBarsPassed());
  const std::string table = FormatTable(report);
  EXPECT_THAT(table, HasSubstr("0.90× loop  ≥ 0.85×  ok"));
  EXPECT_THAT(table, HasSubstr("0.80× loop  ≥ 0.85×  MISSED"));
}

TEST(Report, PlotEscapesNames) {
  Report report;
  report.figures = {Drain({90}, {100}, Bar::AtLeast(0.85))};
  EXPECT_THAT(FormatSvg(report), HasSubstr("lease &lt;kept&gt;"));
  EXPECT_THAT(FormatSvg(report), Not(HasSubstr("<kept>")));
}

TEST(FormatNumber, GroupsThousandsAndKeepsSmallDigits) {
  EXPECT_EQ(FormatNumber(1234567.8), "1,234,568");
  EXPECT_EQ(FormatNumber(999.6), "1,000");
  EXPECT_EQ(FormatNumber(-1234), "-1,234");
  EXPECT_EQ(FormatNumber(12.34), "12.3");
  EXPECT_EQ(FormatNumber(0.856), "0.86");
}

TEST(WithDatabase, ReplacesTheNameInEveryFormOfAddress) {
  EXPECT_EQ(WithDatabase("postgres://u@h:1/a?sslmode=off", "b"), "postgres://u@h:1/b?sslmode=off");
  EXPECT_EQ(WithDatabase("postgres://h", "b"), "postgres://h/b");
  EXPECT_EQ(WithDatabase("postgres://h?x=1", "b"), "postgres://h/b?x=1");
  EXPECT_EQ(WithDatabase("host=h dbname=a", "b"), "host=h dbname=a dbname=b");
}

}  // namespace
}  // namespace outbox::bench
