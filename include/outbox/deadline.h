// Deadline: the moment by which a blocking call must have returned.
//
// Every call that waits for a database, a broker or a handler takes one. It is a point on the
// monotonic clock, so that it can be handed down through layers without being recomputed.
//
// Thread-safety: values; distinct objects may be used from distinct threads.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

namespace outbox {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(Clock::time_point at) noexcept : at_(at) {}
  // A wait too long for the clock is one without end.
  static Deadline After(Clock::duration wait) noexcept {
    const auto now = Clock::now();
    const bool fits = wait < Clock::time_point::max() - now;
    return Deadline(fits ? now + wait : Clock::time_point::max());
  }
  template <typename Rep, typename Period>
  static Deadline After(std::chrono::duration<Rep, Period> wait) noexcept {
    // Compared as floating point numbers, which do not overflow.
    const bool fits =
        std::chrono::duration<double>(wait) < std::chrono::duration<double>(Clock::duration::max());
    return After(fits ? std::chrono::duration_cast<Clock::duration>(wait) : Clock::duration::max());
  }

  Clock::time_point at() const noexcept { return at_; }
  bool passed() const noexcept { return Clock::now() >= at_; }

  // Time left, never negative, and never more than the 24 days that fit an int: poll() and many
  // libraries take no more.
  std::chrono::milliseconds remaining() const noexcept {
    using std::chrono::milliseconds;
    const auto left = std::chrono::ceil<milliseconds>(at_ - Clock::now());
    return std::clamp(left, milliseconds::zero(), milliseconds(std::numeric_limits<int>::max()));
  }

 private:
  Clock::time_point at_;
};

}  // namespace outbox
