// Clock: time for decorators, so that tests need not wait for it.
#pragma once

#include "outbox/deadline.h"

namespace outbox::sink {

// Threads: all methods may be called from any.
class Clock {
 public:
  using TimePoint = Deadline::Clock::time_point;
  using Duration = Deadline::Clock::duration;

  virtual ~Clock() = default;
  virtual TimePoint Now() const = 0;
  virtual void SleepUntil(TimePoint at) = 0;

  // The monotonic clock of this machine; lives as long as the process.
  static Clock& System();
};

}  // namespace outbox::sink
