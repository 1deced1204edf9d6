// Reconnect: the waits between attempts to reach a database that is away.
//
// They double from 50 ms. While the outage is young, less than a minute, none is longer than half
// of the cap: the other half is for connecting and the first claim, so that what waits is on its
// way within the cap of the server being ready. Later it is five times as long; nobody waits for
// the message that comes a moment sooner then, and many relays are a load for a server that is
// coming up. Half of a wait is random, so that many relays do not come back as one.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/random.h"

namespace outbox::relay {

class Reconnect {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  static constexpr Duration kYoung = std::chrono::minutes(1);
  static constexpr int kOldFactor = 5;

  explicit Reconnect(Duration cap = std::chrono::seconds(1)) : cap_(cap) {}

  // An attempt has failed at `now`: how long to wait before the next one.
  Duration Next(TimePoint now, base::Random& random) {
    if (!std::exchange(away_, true)) since_ = now;
    const Duration longest = now - since_ < kYoung ? cap_ : cap_ * kOldFactor;
    const Duration wait = std::min(next_, longest);
    next_ = std::min(wait * 2, cap_ * kOldFactor);
    return wait / 4 + std::chrono::duration_cast<Duration>(wait / 4 * random.Unit());
  }

  // Since when no attempt has succeeded.
  std::optional<TimePoint> since() const {
    return away_ ? std::optional<TimePoint>(since_) : std::nullopt;
  }

  // An attempt has succeeded.
  void Reset() {
    away_ = false;
    next_ = kFirst;
  }

 private:
  static constexpr Duration kFirst = std::chrono::milliseconds(100);

  Duration cap_;
  Duration next_{kFirst};
  bool away_ = false;
  TimePoint since_{};
};

}  // namespace outbox::relay
