#include "sink/decorate/clock.h"

#include <thread>

namespace outbox::sink {
namespace {

class SystemClock final : public Clock {
 public:
  TimePoint Now() const override { return Deadline::Clock::now(); }
  void SleepUntil(TimePoint at) override { std::this_thread::sleep_until(at); }
};

}  // namespace

Clock& Clock::System() {
  static SystemClock& clock = *new SystemClock;
  return clock;
}

}  // namespace outbox::sink
