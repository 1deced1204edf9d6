// RetryPolicy: how long a failed message waits before its next attempt, and when it is dead.
//
// n below is the number of attempts made so far, 1 after the first failure.
//
// Thread-safety: values; distinct objects may be used from distinct threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace outbox {

enum class Jitter : std::uint8_t {
  kNone,      // the delay itself
  kAdditive,  // delay + uniform(0, jitter_additive_max)
  kEqual,     // uniform(delay / 2, delay)
};

struct RetryPolicy {
  // Delay after attempt n: min(base * 2^(n-1), cap), then jitter.
  std::chrono::milliseconds base{std::chrono::seconds(1)};
  std::chrono::milliseconds cap{std::chrono::minutes(5)};
  Jitter jitter = Jitter::kEqual;
  std::chrono::milliseconds jitter_additive_max{200};

  // When not empty, replaces the formula: entry n-1 after attempt n, the last entry for ever after.
  std::vector<std::chrono::milliseconds> schedule;

  // Attempts altogether, the first included; then the message is dead. No value: without end.
  std::optional<int> attempts_max = 20;

  // Returns the wait after `attempts` attempts. `unit_random` is uniform in [0, 1).
  std::chrono::milliseconds DelayAfter(int attempts, double unit_random) const;

  // Whether a message that has failed `attempts` times is dead.
  bool Exhausted(int attempts) const {
    return attempts_max.has_value() && attempts >= *attempts_max;
  }
};

}  // namespace outbox
