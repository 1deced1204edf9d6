#include <gtest/gtest.h>

#include <thread>

#include "service/http/rate_limiter.h"

namespace outbox::service {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

class RateLimiterTest : public ::testing::Test {
 protected:
  RateLimiter Make(RateLimiterOptions options) {
    return RateLimiter(options, [this] { return now_; });
  }
  RateLimiter::Clock::time_point now_{seconds(1000)};
};

TEST_F(RateLimiterTest, IsWithinFivePercentOverTime) {
  for (const double rate : {0.5, 7.0, 50.0, 1000.0}) {
    RateLimiter limiter = Make({.per_second = rate, .burst = 2});
    int allowed = 0;
    const auto end = now_ + seconds(100);
    // Asked much more often than allowed, at odd intervals.
    for (int i = 0; now_ < end; ++i) {
      if (limiter.Take("a") == milliseconds::zero()) ++allowed;
      now_ += microseconds(137 + i % 100);
    }
    EXPECT_NEAR(allowed, rate * 100, rate * 100 * 0.05) << rate;
  }
}

TEST_F(RateLimiterTest, WhoWaitsAsLongAsToldIsAllowed) {
  RateLimiter limiter = Make({.per_second = 3, .burst = 2});
  EXPECT_EQ(limiter.Take("a"), milliseconds::zero());
  EXPECT_EQ(limiter.Take("a"), milliseconds::zero());
  for (int i = 0; i < 100; ++i) {
    const milliseconds wait = limiter.Take("a");
    ASSERT_GT(wait, milliseconds::zero());
    EXPECT_LE(wait, milliseconds(335));
    now_ += wait - milliseconds(2);
    EXPECT_GT(limiter.Take("a"), milliseconds::zero());
    now_ += milliseconds(2);
    EXPECT_EQ(limiter.Take("a"), milliseconds::zero());
  }
}

TEST_F(RateLimiterTest, ABurstIsPossibleAfterAPauseAndNoMore) {
  RateLimiter limiter = Make({.per_second = 10, .burst = 5});
  now_ += seconds(3600);
  int allowed = 0;
  while (limiter.Take("a") == milliseconds::zero()) ++allowed;
  EXPECT_EQ(allowed, 5);
}

TEST_F(RateLimiterTest, KeysDoNotDisturbEachOther) {
  RateLimiter limiter = Make({.per_second = 1, .burst = 1});
  EXPECT_EQ(limiter.Take("a"), milliseconds::zero());
  EXPECT_GT(limiter.Take("a"), milliseconds::zero());
  EXPECT_EQ(limiter.Take("b"), milliseconds::zero());
}

TEST_F(RateLimiterTest, TheQuietestKeyIsForgotten) {
  RateLimiter limiter = Make({.per_second = 0.001, .burst = 1, .keys_max = 3});
  for (const char* key : {"a", "b", "c"}) EXPECT_EQ(limiter.Take(key), milliseconds::zero());
  EXPECT_GT(limiter.Take("a"), milliseconds::zero());  // touched: b is the quietest now
  EXPECT_EQ(limiter.Take("d"), milliseconds::zero());
  EXPECT_EQ(limiter.keys(), 3u);
  EXPECT_GT(limiter.Take("a"), milliseconds::zero());
  EXPECT_EQ(limiter.Take("b"), milliseconds::zero());
  EXPECT_EQ(limiter.keys(), 3u);
}

// Who can have keys made without end must not be able to have a limited one forgotten.
TEST_F(RateLimiterTest, AFloodOfKeysNeitherGrowsItNorFreesWhoIsLimited) {
  RateLimiter limiter = Make({.per_second = 0.001, .burst = 3, .keys_max = 100});
  const auto drain = [&](const std::string& key) {
    while (limiter.Take(key) == milliseconds::zero()) {
    }
  };
  for (const char* key : {"quiet", "busy"}) drain(key);
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_EQ(limiter.Take("flood" + std::to_string(i)), milliseconds::zero());
    ASSERT_LE(limiter.keys(), 100u);
    if (i % 10 == 0) {
      EXPECT_GT(limiter.Take("busy"), milliseconds::zero()) << i;
    }
  }
  EXPECT_GT(limiter.Take("quiet"), milliseconds::zero());
}

TEST_F(RateLimiterTest, ManyThreadsTogetherGetNoMore) {
  RateLimiter limiter = Make({.per_second = 1, .burst = 1000});
  std::atomic<int> allowed = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 1000; ++j) allowed += limiter.Take("a") == milliseconds::zero() ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allowed, 1000);
}

}  // namespace
}  // namespace outbox::service
