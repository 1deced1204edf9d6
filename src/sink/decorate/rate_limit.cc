#include "sink/decorate/rate_limit.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "sink/decorate/decorator.h"

namespace outbox::sink {
namespace {

// Waiting for one token at a time would make batches of one: wait for this much of a second.
constexpr double kPartSeconds = 0.05;

class TokenBucket {
 public:
  TokenBucket(double per_second, std::size_t burst, Clock::TimePoint now)
      : per_second_(per_second), burst_(static_cast<double>(burst)), tokens_(burst_), at_(now) {}

  struct Taken {
    std::size_t count = 0;
    Clock::TimePoint next{};  // when to come again; only when count is 0
  };

  // Up to `wanted` tokens.
  Taken Take(std::size_t wanted, Clock::TimePoint now) {
    const std::lock_guard lock(mutex_);
    if (now > at_) {
      const std::chrono::duration<double> passed = now - at_;
      tokens_ = std::min(burst_, tokens_ + passed.count() * per_second_);
      at_ = now;
    }
    const double count = std::min(static_cast<double>(wanted), std::floor(tokens_));
    if (count >= 1) {
      tokens_ -= count;
      return {.count = static_cast<std::size_t>(count)};
    }
    const double part = std::max(1.0, std::floor(per_second_ * kPartSeconds));
    const double awaited = std::min({static_cast<double>(wanted), part, burst_});
    const std::chrono::duration<double> wait((awaited - tokens_) / per_second_);
    return {.next = at_ + std::chrono::ceil<Clock::Duration>(wait)};
  }

 private:
  const double per_second_;
  const double burst_;
  std::mutex mutex_;
  double tokens_;
  Clock::TimePoint at_;
};

class RateLimitSink final : public Decorator {
 public:
  RateLimitSink(std::shared_ptr<Sink> inner, double per_second, std::size_t burst, Clock& clock)
      : Decorator(std::move(inner)),
        per_second_(per_second),
        clock_(clock),
        bucket_(per_second, burst, clock.Now()) {}

  SinkTraits traits() const noexcept override {
    SinkTraits traits = inner().traits();
    const double a_second = std::clamp(per_second_, 1.0, 1e9);
    traits.concurrency = std::min(traits.concurrency, static_cast<std::size_t>(a_second));
    const double each = std::max(1.0, a_second / static_cast<double>(traits.concurrency));
    traits.batch_max = std::min(traits.batch_max, static_cast<std::size_t>(each));
    return traits;
  }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    std::size_t done = 0;
    while (done < batch.size()) {
      const TokenBucket::Taken taken = bucket_.Take(batch.size() - done, clock_.Now());
      if (taken.count > 0) {
        inner().Publish(batch.subspan(done, taken.count), results.subspan(done, taken.count),
                        deadline);
        done += taken.count;
      } else if (taken.next < deadline.at()) {
        clock_.SleepUntil(taken.next);
      } else {
        std::fill(results.begin() + static_cast<std::ptrdiff_t>(done), results.end(),
                  Status::SinkDown("the rate limit allows no more before the deadline"));
        return;
      }
    }
  }

 private:
  const double per_second_;
  Clock& clock_;
  TokenBucket bucket_;
};

}  // namespace

std::shared_ptr<Sink> RateLimit(std::shared_ptr<Sink> sink, double per_second, std::size_t burst,
                                Clock& clock) {
  OUTBOX_CHECK(per_second > 0 && burst > 0);
  return std::make_shared<RateLimitSink>(std::move(sink), per_second, burst, clock);
}

}  // namespace outbox::sink
