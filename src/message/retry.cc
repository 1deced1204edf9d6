#include "outbox/retry.h"

#include <algorithm>
#include <cmath>

namespace outbox {

std::chrono::milliseconds RetryPolicy::DelayAfter(int attempts, double unit_random) const {
  using std::chrono::milliseconds;
  const int n = std::max(attempts, 1);
  milliseconds delay;
  if (!schedule.empty()) {
    delay = schedule[std::min(static_cast<std::size_t>(n) - 1, schedule.size() - 1)];
  } else {
    // 2^40 times any base exceeds every sensible cap; beyond it the product could overflow.
    const double doubled = static_cast<double>(base.count()) * std::ldexp(1.0, std::min(n - 1, 40));
    delay = doubled >= static_cast<double>(cap.count())
                ? cap
                : milliseconds(static_cast<milliseconds::rep>(doubled));
  }
  const auto share = [&](milliseconds of) {
    return milliseconds(
        static_cast<milliseconds::rep>(unit_random * static_cast<double>(of.count() + 1)));
  };
  switch (jitter) {
    case Jitter::kNone: return delay;
    case Jitter::kAdditive: return delay + share(jitter_additive_max);
    case Jitter::kEqual: return delay - delay / 2 + share(delay / 2);
  }
  return delay;
}

}  // namespace outbox
