// RateLimiter: so many calls a second for each key, by token buckets.
//
// A key is whoever is limited: a token's subject, an address. Keys are remembered up to a maximum.
// Then one of the quietest is forgotten, the one with the fullest bucket, which loses least:
// whoever has keys without end finds no room for them by having those forgotten that are limited.
//
// Threads: any number at once. Never blocks but for its own short lock.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace outbox::service {

struct RateLimiterOptions {
  double per_second = 50;  // more than 0
  double burst = 100;      // at least 1: calls at once after a pause
  std::size_t keys_max = 10'000;
};

class RateLimiter {
 public:
  using Clock = std::chrono::steady_clock;

  // `now` is replaced by tests.
  explicit RateLimiter(RateLimiterOptions options,
                       std::function<Clock::time_point()> now = Clock::now);

  // Zero: go ahead. Otherwise nothing was taken, and one call will be possible after that time.
  // TooManyRequests(wait) is the answer to give.
  std::chrono::milliseconds Take(std::string_view key);

  std::size_t keys() const;

 private:
  struct Bucket {
    std::string key;
    double tokens = 0;
    Clock::time_point at;
  };

  Bucket& Touch(std::string_view key, Clock::time_point now);
  void Refill(Bucket& bucket, Clock::time_point now) const;
  void Forget(Clock::time_point now);

  const RateLimiterOptions options_;
  const std::function<Clock::time_point()> now_;

  mutable std::mutex mutex_;
  std::list<Bucket> buckets_;  // the latest first, but for those that Forget has passed over
  std::unordered_map<std::string_view, std::list<Bucket>::iterator>
      index_;  // keys are the buckets'
};

}  // namespace outbox::service
