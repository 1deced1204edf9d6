// Courtesy: whose turn it is after the database was away.
//
// While nobody reaches the database no lease can be kept, and all of them run out together. A relay
// that waits for a slow sink has lost nothing by that as long as nobody takes its messages before
// it has told the database again that it is there. So whoever noticed the outage leaves leases
// alone for a moment, long enough for the others' next heartbeat; messages that nobody holds are
// claimed at once.
//
// No clock of its own: the current time comes in.
#pragma once

#include <chrono>
#include <optional>

namespace outbox::relay {

class Courtesy {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  explicit Courtesy(Duration lease) : heartbeat_(lease / 3) {}

  // The database answers at `now`; nobody could reach it since `since`, when that is set.
  void OnReached(TimePoint now, std::optional<TimePoint> since) {
    if (since && now - *since >= heartbeat_) until_ = now + heartbeat_ + kReconnecting;
  }

  // Whether a claim made at `now` spares them. The first one after an outage, which has lasted
  // since `since`, does already.
  bool Due(TimePoint now, std::optional<TimePoint> since) const {
    return now < until_ || (since && now - *since >= heartbeat_);
  }

 private:
  static constexpr Duration kReconnecting = std::chrono::seconds(1);

  Duration heartbeat_;
  TimePoint until_{};
};

}  // namespace outbox::relay
