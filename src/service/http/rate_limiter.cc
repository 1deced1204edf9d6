#include "service/http/rate_limiter.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace outbox::service {
namespace {

// Of how many quiet keys one is chosen to be forgotten.
constexpr int kChoice = 16;

}  // namespace

RateLimiter::RateLimiter(RateLimiterOptions options, std::function<Clock::time_point()> now)
    : options_(options), now_(std::move(now)) {
  OUTBOX_CHECK(options_.per_second > 0 && options_.burst >= 1 && options_.keys_max >= 1);
}

std::chrono::milliseconds RateLimiter::Take(std::string_view key) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = now_();
  Bucket& bucket = Touch(key, now);
  if (bucket.tokens >= 1) {
    bucket.tokens -= 1;
    return std::chrono::milliseconds::zero();
  }
  const double seconds = (1 - bucket.tokens) / options_.per_second;
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::floor(seconds * 1000)) + 1);
}

std::size_t RateLimiter::keys() const {
  const std::lock_guard lock(mutex_);
  return buckets_.size();
}

RateLimiter::Bucket& RateLimiter::Touch(std::string_view key, Clock::time_point now) {
  if (const auto known = index_.find(key); known != index_.end()) {
    buckets_.splice(buckets_.begin(), buckets_, known->second);
    Refill(buckets_.front(), now);
    return buckets_.front();
  }
  if (buckets_.size() == options_.keys_max) Forget(now);
  buckets_.push_front({.key = std::string(key), .tokens = options_.burst, .at = now});
  index_.emplace(buckets_.front().key, buckets_.begin());
  return buckets_.front();
}

void RateLimiter::Refill(Bucket& bucket, Clock::time_point now) const {
  const std::chrono::duration<double> passed = now - bucket.at;
  bucket.tokens =
      std::min(options_.burst, bucket.tokens + std::max(0.0, passed.count()) * options_.per_second);
  bucket.at = std::max(bucket.at, now);
}

// Those that are passed over come to the front, or some that are limited for long would be all the
// choice there is.
void RateLimiter::Forget(Clock::time_point now) {
  auto fullest = std::prev(buckets_.end());
  auto first = buckets_.end();
  for (int i = 0; i < kChoice && first != buckets_.begin(); ++i) {
    --first;
    Refill(*first, now);
    if (first->tokens > fullest->tokens) fullest = first;
  }
  index_.erase(fullest->key);
  if (fullest == first) ++first;
  buckets_.erase(fullest);
  if (first != buckets_.begin()) buckets_.splice(buckets_.begin(), buckets_, first, buckets_.end());
}

}  // namespace outbox::service
