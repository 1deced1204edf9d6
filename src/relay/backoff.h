// Backoff: waits that double from a minimum to a maximum, with jitter, until reset.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/random.h"

namespace outbox::relay {

class Backoff {
 public:
  using Duration = std::chrono::steady_clock::duration;

  Backoff() = default;
  Backoff(Duration min, Duration max) : min_(min), max_(max), next_(min) {}

  // The next wait: between half and all of it, so that many relays do not come back as one.
  Duration Next(base::Random& random) {
    const Duration wait = next_;
    next_ = std::min(next_ * 2, max_);
    return wait / 2 + std::chrono::duration_cast<Duration>(wait / 2 * random.Unit());
  }
  void Reset() { next_ = min_; }

 private:
  Duration min_{std::chrono::milliseconds(100)};
  Duration max_{std::chrono::seconds(5)};
  Duration next_{min_};
};

}  // namespace outbox::relay
