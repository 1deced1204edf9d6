// Deadline: the moment by which a blocking call must have returned.
//
// Every call that waits for a database, a broker or a handler takes one. It is a point on the
// monotonic clock, so that it can be handed down through layers without being recomputed.
#pragma once

#include <algorithm>
#include <chrono>

namespace outbox {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(Clock::time_point at) noexcept : at_(at) {}
  static Deadline After(Clock::duration wait) noexcept { return Deadline(Clock::now() + wait); }

  Clock::time_point at() const noexcept { return at_; }
  bool passed() const noexcept { return Clock::now() >= at_; }

  // Time left, never negative.
  std::chrono::milliseconds remaining() const noexcept {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now());
    return std::max(left, std::chrono::milliseconds::zero());
  }

 private:
  Clock::time_point at_;
};

}  // namespace outbox
