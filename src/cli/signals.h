// StopSignals: SIGINT and SIGTERM as something to wait for, instead of something that interrupts.
#pragma once

#include <signal.h>

#include <chrono>
#include <optional>

namespace outbox::cli {

// Make one on the main thread before any other thread starts: threads inherit that the signals are
// blocked, so that only Wait receives them.
class StopSignals {
 public:
  StopSignals();

  // The signal that came, or nothing when none did in time.
  std::optional<int> Wait(std::chrono::milliseconds timeout) const;

 private:
  sigset_t signals_;
};

// SIGHUP as something to ask for: it asks a service to read its files again, and ends nothing. Make
// one before any other thread starts.
class HangUpSignal {
 public:
  HangUpSignal();

  // Whether it came since the last call. Never waits.
  bool Taken() const;

 private:
  sigset_t signals_;
};

}  // namespace outbox::cli
