// Relay: the daemon's engine inside your own process.
//
//   auto relay = outbox::Relay::Start("postgres://localhost/shop", {.table = "orders_outbox"},
//       outbox::MakeCallbackSink([](const outbox::Message& m, outbox::Deadline) {
//         return Send(m);          // a Status; an exception counts as a failure
//       }));
//   ...
//   relay.value()->Stop();
//
// Thread-safety: every method may be called from any thread. The relay runs threads of its own:
// one that claims, one that settles, and up to SinkTraits::concurrency that publish. Sinks,
// handlers and observers run on these threads, and so cannot wait for the relay: see Stop and
// Drain.
//
// Do not fork while a relay runs: the child has none of its threads, and destroying or stopping the
// relay there hangs or crashes. Start relays after the fork, or let the child call exec.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "outbox/observer.h"
#include "outbox/options.h"
#include "outbox/sink.h"
#include "outbox/status.h"

namespace outbox {

// Counts of messages since the start.
struct RelayStats {
  RelayState state = RelayState::kStarting;
  bool leading = false;
  std::uint64_t claimed = 0;
  std::uint64_t delivered = 0;
  std::uint64_t retried = 0;
  std::uint64_t dead = 0;
  std::uint64_t released = 0;
  std::uint64_t lost = 0;
  std::uint64_t in_flight = 0;  // claimed and not settled, now
  // Why the relay has paused itself: its sink wants no more messages (Status::WithPause). Empty
  // otherwise, and once the relay is resumed.
  std::string pause_reason;
};

class Relay {
 public:
  // Connects, checks the table's schema and starts. `database` is `postgres://…`, a libpq DSN, or
  // `sqlite:PATH`. The relay shares `sink` and `observer` and lets go of them when it is destroyed;
  // `observer` may be null.
  //
  // Opens the sink first: fails if the sink can never work, but not if it is down. Then fails with
  // kInvalidArgument if `options` make no sense, with kNotFound or kSchema if the table is missing
  // or of another version, and with kUnavailable if the database does not answer: only a relay that
  // has started reconnects by itself.
  static Result<std::unique_ptr<Relay>> Start(const std::string& database, RelayOptions options,
                                              std::shared_ptr<Sink> sink,
                                              std::shared_ptr<RelayObserver> observer = nullptr);

  // Stops as Stop() does.
  virtual ~Relay() = default;

  // Claims nothing more, finishes the messages that are being published and releases those that are
  // only claimed. Returns when done, at the latest after shutdown_timeout and a moment for the last
  // settle. A failure says what was left behind. A second call returns the same answer.
  //
  // Called in a sink, a handler or an observer of this relay, Stop only asks the relay to stop and
  // returns kCancelled at once; the messages that are being published are still finished. Another
  // thread may wait for the end by calling Stop too, or by destroying the relay.
  virtual Status Stop() = 0;

  // Blocks until no message is left that is due, leased or waiting for a retry; messages delayed
  // by their producer do not count. Fails with kDeadline, with the reason for which the relay
  // stopped, or at once with kCancelled if called in a sink, a handler or an observer of this
  // relay. Several threads may wait at once.
  virtual Status Drain(Deadline deadline) = 0;

  // Looks for messages at once instead of at the next poll. Call it after a commit.
  virtual void Wake() = 0;

  // Claims nothing until Resume. Messages that are only claimed are released; those that are being
  // published are finished. For people who repair a sink or look into a table. Other relays of the
  // table go on; the pause is not recorded in the database and ends with this relay.
  virtual void Pause() = 0;
  virtual void Resume() = 0;

  virtual RelayStats Stats() const = 0;
};

}  // namespace outbox
