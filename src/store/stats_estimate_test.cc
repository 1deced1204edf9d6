#include "store/stats_estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace outbox::store {
namespace {

// A table of pages, each with so many live rows and so many delivered ones.
class Pages {
 public:
  struct Page {
    std::int64_t live = 0;
    std::int64_t delivered = 0;
  };

  explicit Pages(std::vector<Page> pages) : pages_(std::move(pages)) {}

  Result<StatsSample> Look(const SampleRange& range) {
    looks_.push_back(range);
    const auto size = static_cast<std::int64_t>(pages_.size());
    const std::int64_t first = range.from.value_or(0);
    StatsSample sample{.parts = std::min(range.until.value_or(size), size) - first};
    sample.parts_read = std::min<std::int64_t>(sample.parts, range.closer ? 400 : 100);
    sample.step = sample.parts / sample.parts_read + 1;
    for (std::int64_t i = 0; i < sample.parts_read; ++i) {
      const std::int64_t at = first + (2 * i + 1) * sample.parts / (2 * sample.parts_read);
      const Page& page = pages_[static_cast<std::size_t>(at)];
      sample.rows.pending += page.live;
      sample.rows.delivered += page.delivered;
      if (page.live == 0) continue;
      if (!sample.first_live) sample.first_live = at;
      sample.last_live = at;
    }
    return sample;
  }

  TableStats Estimate(const TableStats& counted) {
    auto stats = EstimateStats(counted, [this](const SampleRange& range) { return Look(range); });
    EXPECT_TRUE(stats.ok());
    return std::move(stats).value();
  }

  const std::vector<SampleRange>& looks() const { return looks_; }

 private:
  std::vector<Page> pages_;
  std::vector<SampleRange> looks_;
};

TEST(StatsEstimate, ExactCountsNeedNoSample) {
  Pages pages(std::vector<Pages::Page>(1, {.live = 5, .delivered = 0}));
  EXPECT_EQ(pages.Estimate({.pending = 5}).pending, 5);
  EXPECT_TRUE(pages.looks().empty());
}

TEST(StatsEstimate, ALargeBacklogTakesOneLook) {
  Pages pages(std::vector<Pages::Page>(10'000, {.live = 30}));
  EXPECT_EQ(pages.Estimate({.pending = 1'000, .live_estimated = true}).pending, 301'000);
  EXPECT_EQ(pages.looks().size(), 1U);
}

TEST(StatsEstimate, ASmallBacklogAmongManyDeliveredIsLookedAtWhereItStands) {
  std::vector<Pages::Page> rows(100'000, {.live = 0, .delivered = 12});
  std::fill(rows.end() - 3'000, rows.end(), Pages::Page{.live = 12, .delivered = 0});
  Pages pages(rows);
  const TableStats stats =
      pages.Estimate({.delivered = 1'000, .live_estimated = true, .delivered_estimated = true});
  EXPECT_NEAR(static_cast<double>(stats.pending), 36'000, 360);
  EXPECT_NEAR(static_cast<double>(stats.delivered), 97'000 * 12, 97'000 * 12 * 0.01);
  ASSERT_EQ(pages.looks().size(), 2U);
  EXPECT_GE(pages.looks().back().from, 90'000) << "not where none was seen";
}

TEST(StatsEstimate, WhereNoneWasSeenTheSecondLookIsAtAllOfIt) {
  Pages pages(std::vector<Pages::Page>(10'000, {.live = 0, .delivered = 1}));
  EXPECT_EQ(pages.Estimate({.pending = 700, .live_estimated = true}).pending, 700);
  ASSERT_EQ(pages.looks().size(), 2U);
  EXPECT_FALSE(pages.looks().back().from.has_value());
  EXPECT_TRUE(pages.looks().back().closer);
}

TEST(StatsEstimate, AnEstimateIsNeverBelowWhatWasCounted) {
  Pages pages(std::vector<Pages::Page>(50, {.live = 0, .delivered = 1}));
  const TableStats stats = pages.Estimate(
      {.dead = 1'000, .delivered = 1'000, .dead_estimated = true, .delivered_estimated = true});
  EXPECT_EQ(stats.dead, 1'000);
  EXPECT_EQ(stats.delivered, 1'000);
}

TEST(StatsEstimate, AFailedLookIsAFailure) {
  const auto stats = EstimateStats({.live_estimated = true}, [](const SampleRange&) {
    return Result<StatsSample>(Status::Retry(Code::kUnavailable, "gone"));
  });
  EXPECT_FALSE(stats.ok());
}

}  // namespace
}  // namespace outbox::store
