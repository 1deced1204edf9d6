// ConnectStep: what is told of a connection while it is made, for whoever wants to see it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "outbox/status.h"

namespace outbox::sink {

// A step of connecting that has ended, well or not.
struct ConnectStep {
  std::string_view name;  // "resolve", "connect", "tls"
  std::string detail;     // "2 addresses", "192.0.2.1", "TLSv1.3, …", or the error
  bool ok = true;
  bool more = false;  // not so, and another address is tried next
  std::chrono::nanoseconds took{};
};
using ConnectObserver = std::function<void(const ConnectStep& step)>;

// Times a step from its construction on. `observer` outlives it and may be empty.
class StepTimer {
 public:
  StepTimer(const ConnectObserver& observer, std::string_view name)
      : observer_(observer), name_(name) {}

  void Tell(const Status& status, const std::string& detail, bool more = false) const {
    if (!observer_) return;
    observer_({.name = name_,
               .detail = status.ok() ? detail : status.message(),
               .ok = status.ok(),
               .more = !status.ok() && more,
               .took = Clock::now() - start_});
  }

 private:
  using Clock = std::chrono::steady_clock;

  const ConnectObserver& observer_;
  const std::string_view name_;
  const Clock::time_point start_ = Clock::now();
};

}  // namespace outbox::sink
