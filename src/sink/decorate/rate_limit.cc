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
// Kept of a call's time for sending: this part, but no more than that.
constexpr int kPartToSend = 10;
constexpr std::chrono::seconds kTimeToSend{1};

}  // namespace

class TokenBucket {
 public:
  TokenBucket(double per_second, std::size_t burst, Clock& clock)
      : per_second_(per_second),
        burst_(static_cast<double>(burst)),
        clock_(clock),
        tokens_(burst_),
        at_(clock.Now()) {}

  double per_second() const { return per_second_; }
  Clock& clock() const { return clock_; }

  struct Taken {
    std::size_t count = 0;
    Clock::TimePoint next{};  // when to come again; only when count is 0
  };

  // Up to `wanted` tokens.
  Taken Take(std::size_t wanted) {
    const std::lock_guard lock(mutex_);
    const Clock::TimePoint now = clock_.Now();
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
  Clock& clock_;
  std::mutex mutex_;
  double tokens_;
  Clock::TimePoint at_;
};

namespace {

class RateLimitSink final : public Decorator {
 public:
  RateLimitSink(std::shared_ptr<Sink> inner, std::shared_ptr<TokenBucket> bucket)
      : Decorator(std::move(inner)), bucket_(std::move(bucket)) {}

  SinkTraits traits() const noexcept override {
    SinkTraits traits = inner().traits();
    const double a_second = std::clamp(bucket_->per_second(), 1.0, 1e9);
    traits.concurrency = std::min(traits.concurrency, static_cast<std::size_t>(a_second));
    const double each = std::max(1.0, a_second / static_cast<double>(traits.concurrency));
    traits.batch_max = std::min(traits.batch_max, static_cast<std::size_t>(each));
    return traits;
  }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    // What passes later than that would have no time to be sent.
    const auto time = deadline.at() - bucket_->clock().Now();
    const auto latest = deadline.at() - std::min<Clock::Duration>(time / kPartToSend, kTimeToSend);
    std::size_t done = 0;
    while (done < batch.size()) {
      const TokenBucket::Taken taken = bucket_->Take(batch.size() - done);
      if (taken.count > 0) {
        inner().Publish(batch.subspan(done, taken.count), results.subspan(done, taken.count),
                        deadline);
        done += taken.count;
      } else if (taken.next < latest) {
        bucket_->clock().SleepUntil(taken.next);
      } else {
        std::fill(results.begin() + static_cast<std::ptrdiff_t>(done), results.end(),
                  Status::SinkDown("the rate limit allows no more before the deadline"));
        return;
      }
    }
  }

 private:
  const std::shared_ptr<TokenBucket> bucket_;
};

}  // namespace

std::shared_ptr<TokenBucket> MakeTokenBucket(double per_second, std::size_t burst, Clock& clock) {
  OUTBOX_CHECK(per_second > 0 && burst > 0);
  return std::make_shared<TokenBucket>(per_second, burst, clock);
}

std::shared_ptr<Sink> RateLimit(std::shared_ptr<Sink> sink, std::shared_ptr<TokenBucket> bucket) {
  return std::make_shared<RateLimitSink>(std::move(sink), std::move(bucket));
}

}  // namespace outbox::sink
