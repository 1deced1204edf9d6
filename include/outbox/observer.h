// RelayObserver: everything a relay does, as it does it. Logs, metrics and the HTTP API are
// observers; the relay depends on none of them.
//
// Called from the relay's own threads, several at a time: implementations synchronise themselves,
// return quickly and do not throw. References and views are valid during the call only. An observer
// may ask its relay to stop (Relay::Stop does not wait then); it must not destroy the relay.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "outbox/message.h"
#include "outbox/status.h"

namespace outbox {

enum class RelayState : std::uint8_t {
  kStarting,
  kRunning,
  kStandby,         // single-active mode, and another relay leads
  kWaitingForSink,  // the sink is down; probing
  kPaused,          // by a person or the sink: nothing is claimed until somebody resumes it
  kDraining,        // asked to stop; finishing what is being published
  kStopped,
};

std::string_view ToString(RelayState state) noexcept;

// What one settle did to the rows of a claim.
struct SettleCounts {
  std::size_t delivered = 0;
  std::size_t retried = 0;
  std::size_t dead = 0;
  std::size_t released = 0;  // given back without counting an attempt
  std::size_t lost = 0;      // another relay had taken the lease over
};

// Rows that one round of the cleaner removed.
struct PurgeCounts {
  std::size_t delivered = 0;
  std::size_t dead = 0;
  std::size_t audit = 0;  // records of repairs and pauses

  std::size_t Sum() const { return delivered + dead + audit; }
};

class RelayObserver {
 public:
  using Duration = std::chrono::steady_clock::duration;

  virtual ~RelayObserver() = default;

  virtual void OnStateChanged(std::string_view table, RelayState state, std::string_view why) {
    (void)table, (void)state, (void)why;
  }
  // Single-active mode: this relay has become, or is no longer, the table's leader.
  virtual void OnLeaderChanged(std::string_view table, bool leading) { (void)table, (void)leading; }

  // A claim came back with `count` messages; 0 is an empty poll.
  virtual void OnClaimed(std::string_view table, std::size_t count, Duration took) {
    (void)table, (void)count, (void)took;
  }
  // The sink has answered for one message. `took` is the time its Publish call took.
  virtual void OnPublished(const Message& message, const Status& result, Duration took) {
    (void)message, (void)result, (void)took;
  }
  // The database has recorded the outcomes of (part of) a claim.
  virtual void OnSettled(std::string_view table, const SettleCounts& counts, Duration took) {
    (void)table, (void)counts, (void)took;
  }
  // This message is dead now; called once for each message. `result` is its last failure.
  virtual void OnDead(const Message& message, const Status& result) { (void)message, (void)result; }
  // Another relay took this message over while this one was publishing it; the outcome was not
  // recorded.
  virtual void OnLeaseLost(const Message& message) { (void)message; }

  // Messages of a table with routes were split into deliveries; `unrouted` of them had no route.
  // Messages that stay in their own rows are not counted.
  virtual void OnSplit(std::string_view table, std::size_t messages, std::size_t deliveries,
                       std::size_t unrouted, Duration took) {
    (void)table, (void)messages, (void)deliveries, (void)unrouted, (void)took;
  }

  // A database call failed; the relay tries again after `retry_in`.
  virtual void OnStoreError(std::string_view table, std::string_view operation, const Status& error,
                            Duration retry_in) {
    (void)table, (void)operation, (void)error, (void)retry_in;
  }
  // The cleaner removed rows.
  virtual void OnPurged(std::string_view table, const PurgeCounts& counts, Duration took) {
    (void)table, (void)counts, (void)took;
  }
  // Something a person should read once: a fallback taken, an option without effect.
  virtual void OnNotice(std::string_view table, std::string_view text) { (void)table, (void)text; }
};

}  // namespace outbox
