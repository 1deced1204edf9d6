#include "service/metrics/stats_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>

#include "service/metrics/scrape.h"
#include "tests/support/matchers.h"
#include "tests/support/wait.h"

namespace outbox::service {
namespace {

using namespace std::chrono_literals;
using outbox::testing::WaitFor;
using ::testing::Optional;
using testing::Scrape;

std::optional<double> Pending(const MetricsObserver& metrics, const std::string& table) {
  return Scrape(metrics.Exposition()).Find("outbox_pending", {{"table", table}});
}

TEST(StatsSampler, AsksEachTableAtOnceAndThenAtTheInterval) {
  const auto metrics = std::make_shared<MetricsObserver>();
  std::atomic<std::int64_t> asked{0};
  const auto sampler = StatsSampler::Start(
      {{"a",
        [&](Deadline) -> Result<store::TableStats> { return store::TableStats{.pending = 7}; }},
       {"b",
        [&](Deadline) -> Result<store::TableStats> {
          return store::TableStats{.pending = ++asked};
        }}},
      5ms, metrics, nullptr);
  EXPECT_TRUE(WaitFor([&] { return Pending(*metrics, "b").value_or(0) >= 3; }));
  EXPECT_THAT(Pending(*metrics, "a"), Optional(7));
}

TEST(StatsSampler, AFailureIsCountedAndTheOtherTablesAreAsked) {
  const auto metrics = std::make_shared<MetricsObserver>();
  const auto sampler = StatsSampler::Start(
      {{"gone",
        [](Deadline) -> Result<store::TableStats> {
          return Status::Retry(Code::kUnavailable, "no database");
        }},
       {"there",
        [](Deadline) -> Result<store::TableStats> { return store::TableStats{.pending = 1}; }}},
      5ms, metrics, metrics);
  EXPECT_TRUE(WaitFor([&] {
    return Scrape(metrics->Exposition())
               .Find("outbox_store_errors_total", {{"table", "gone"}, {"operation", "stats"}})
               .value_or(0) >= 2;
  }));
  EXPECT_THAT(Pending(*metrics, "there"), Optional(1));
  EXPECT_EQ(Pending(*metrics, "gone"), std::nullopt);
}

TEST(StatsSampler, AScrapeDoesNotWaitForTheDatabase) {
  const auto metrics = std::make_shared<MetricsObserver>();
  std::latch asking(1);
  std::latch answer(1);
  std::optional<std::chrono::milliseconds> allowed;
  const auto sampler = StatsSampler::Start({{"slow",
                                             [&](Deadline deadline) -> Result<store::TableStats> {
                                               allowed = deadline.remaining();
                                               asking.count_down();
                                               answer.wait();
                                               return store::TableStats{.pending = 1};
                                             }}},
                                           1h, metrics, nullptr);
  asking.wait();
  EXPECT_EQ(Pending(*metrics, "slow"), std::nullopt);
  EXPECT_LE(allowed, StatsSampler::kAskTimeout);
  answer.count_down();
  EXPECT_TRUE(WaitFor([&] { return Pending(*metrics, "slow") == 1; }));
}

TEST(StatsSampler, StopsWithoutWaitingForTheInterval) {
  const auto metrics = std::make_shared<MetricsObserver>();
  std::atomic<int> asked{0};
  const auto sampler = StatsSampler::Start({{"t",
                                             [&](Deadline) -> Result<store::TableStats> {
                                               ++asked;
                                               return store::TableStats{};
                                             }}},
                                           1h, metrics, nullptr);
  EXPECT_TRUE(WaitFor([&] { return asked == 1; }));
  sampler->Stop();
  sampler->Stop();
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace outbox::service
