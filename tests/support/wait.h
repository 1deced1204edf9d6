// WaitFor: tests wait for conditions, never for time to pass.
#pragma once

#include <chrono>
#include <concepts>
#include <thread>

namespace outbox::testing {

// Long enough for a loaded machine, short enough to fail before CTest's own limit.
inline constexpr std::chrono::seconds kPatience{60};

// True as soon as `condition()` is; false when it is not within `patience`.
template <std::predicate Condition>
bool WaitFor(Condition condition, std::chrono::milliseconds patience = kPatience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace outbox::testing
