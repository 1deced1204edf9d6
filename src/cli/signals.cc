#include "cli/signals.h"

#include <ctime>

namespace outbox::cli {

StopSignals::StopSignals() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

std::optional<int> StopSignals::Wait(std::chrono::milliseconds timeout) const {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(timeout);
  const timespec wait{
      .tv_sec = seconds.count(),
      .tv_nsec = std::chrono::nanoseconds(timeout - seconds).count(),
  };
  const int signal = sigtimedwait(&signals_, nullptr, &wait);
  return signal > 0 ? std::optional(signal) : std::nullopt;
}

HangUpSignal::HangUpSignal() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

bool HangUpSignal::Taken() const {
  const timespec at_once{};
  return sigtimedwait(&signals_, nullptr, &at_once) > 0;
}

}  // namespace outbox::cli
