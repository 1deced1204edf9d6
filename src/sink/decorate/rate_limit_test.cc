#include "sink/decorate/rate_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "sink/decorate/fakes.h"
#include "tests/support/matchers.h"

namespace outbox::sink {
namespace {

using ::testing::ElementsAre;
using namespace std::chrono_literals;

class RateLimitTest : public ::testing::Test {
 protected:
  std::size_t Passed() const {
    return std::accumulate(inner_->calls.begin(), inner_->calls.end(), std::size_t{0});
  }

  FakeClock clock_;
  const std::shared_ptr<FakeSink> inner_ = std::make_shared<FakeSink>(SinkTraits{1000, 1});
};

TEST_F(RateLimitTest, ABurstPassesAtOnceAndAPauseRefillsIt) {
  const auto sink = RateLimit(inner_, MakeTokenBucket(100, 20, clock_));
  const auto start = clock_.Now();
  PublishTo(*sink, 20, clock_.After(1s));
  EXPECT_EQ(clock_.Now(), start);
  clock_.Advance(1h);
  const auto later = clock_.Now();
  PublishTo(*sink, 20, clock_.After(1s));
  EXPECT_EQ(clock_.Now(), later) << "the bucket holds a burst";
  EXPECT_THAT(inner_->calls, ElementsAre(20, 20));
}

TEST_F(RateLimitTest, HoldsTheRateOverTime) {
  const auto sink = RateLimit(inner_, MakeTokenBucket(200, 10, clock_));
  const auto start = clock_.Now();
  for (int i = 0; i < 20; ++i) {
    for (const Status& status : PublishTo(*sink, 100, clock_.After(10s))) ASSERT_OK(status);
  }
  const std::chrono::duration<double> took = clock_.Now() - start;
  EXPECT_EQ(Passed(), 2000u);
  EXPECT_NEAR(took.count(), (2000 - 10) / 200.0, 0.05);
}

TEST_F(RateLimitTest, PassesPartsAndNotSingleMessages) {
  const auto sink = RateLimit(inner_, MakeTokenBucket(1000, 100, clock_));
  PublishTo(*sink, 400, clock_.After(10s));
  EXPECT_EQ(Passed(), 400u);
  EXPECT_LE(inner_->calls.size(), 8u);
}

TEST_F(RateLimitTest, NeverWaitsPastTheDeadline) {
  const auto sink = RateLimit(inner_, MakeTokenBucket(10, 5, clock_));
  const auto start = clock_.Now();
  const auto results = PublishTo(*sink, 100, clock_.After(1s));
  EXPECT_LE(clock_.Now() - start, 1s);
  EXPECT_OK(results[0]);
  EXPECT_EQ(results[99].disposition(), Disposition::kSinkDown) << "no attempt is charged";
  const std::size_t sent = Passed();
  EXPECT_GE(sent, 13u);
  EXPECT_LE(sent, 15u);
  EXPECT_OK(results[sent - 1]);
  EXPECT_FALSE(results[sent].ok());
}

TEST_F(RateLimitTest, NothingPassesWithoutTimeToSendIt) {
  const auto sink = RateLimit(inner_, MakeTokenBucket(1, 1, clock_));
  PublishTo(*sink, 1, clock_.After(10s));
  const auto results = PublishTo(*sink, 1, clock_.After(1001ms));
  EXPECT_EQ(results[0].disposition(), Disposition::kSinkDown) << "1 ms was left for it";
  EXPECT_EQ(Passed(), 1u);
}

TEST_F(RateLimitTest, BatchesAreWhatTheRateAllowsInASecond) {
  const auto batch_max = [&](SinkTraits own, double rate) {
    return RateLimit(std::make_shared<FakeSink>(own), MakeTokenBucket(rate, 1, clock_))
        ->traits()
        .batch_max;
  };
  EXPECT_EQ(batch_max({1000, 1}, 50), 50u);
  EXPECT_EQ(batch_max({1000, 5}, 50), 10u);
  EXPECT_EQ(batch_max({1000, 1}, 1e6), 1000u);
  EXPECT_EQ(batch_max({1000, 1}, 0.1), 1u);
  EXPECT_EQ(
      RateLimit(std::make_shared<FakeSink>(SinkTraits{10, 8}), MakeTokenBucket(0.5, 1, clock_))
          ->traits()
          .concurrency,
      1u);
}

TEST_F(RateLimitTest, SlowRatesWork) {
  const auto sink = RateLimit(inner_, MakeTokenBucket(0.5, 1, clock_));
  const auto start = clock_.Now();
  for (int i = 0; i < 3; ++i) EXPECT_OK(PublishTo(*sink, 1, clock_.After(10s))[0]);
  EXPECT_EQ(std::chrono::round<std::chrono::milliseconds>(clock_.Now() - start), 4s);
}

TEST_F(RateLimitTest, ManyThreadsShareTheRate) {
  const auto sink = RateLimit(inner_, MakeTokenBucket(1000, 50, clock_));
  const auto start = clock_.Now();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) PublishTo(*sink, 20, clock_.After(1h));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Passed(), 2000u);
  const std::chrono::duration<double> took = clock_.Now() - start;
  EXPECT_GE(took.count(), (2000 - 50) / 1000.0 - 0.01);
}

TEST(RateLimitOnTheRealClock, Waits) {
  const auto inner = std::make_shared<FakeSink>();
  const auto sink = RateLimit(inner, MakeTokenBucket(100, 1));
  const auto start = std::chrono::steady_clock::now();
  for (const Status& status : PublishTo(*sink, 11, Deadline::After(30s))) EXPECT_OK(status);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 95ms);
}

TEST_F(RateLimitTest, SinksWithOneBucketShareItsRate) {
  const auto bucket = MakeTokenBucket(200, 10, clock_);
  const auto one = RateLimit(inner_, bucket);
  const auto other = RateLimit(inner_, bucket);
  const auto start = clock_.Now();
  for (int i = 0; i < 10; ++i) {
    for (Sink* sink : {one.get(), other.get()}) PublishTo(*sink, 100, clock_.After(10s));
  }
  const std::chrono::duration<double> took = clock_.Now() - start;
  EXPECT_EQ(Passed(), 2000u);
  EXPECT_NEAR(took.count(), (2000 - 10) / 200.0, 0.05);
}

}  // namespace
}  // namespace outbox::sink
