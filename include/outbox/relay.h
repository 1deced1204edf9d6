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
// one that claims, one that settles, and as many as the sink allows that publish. On these, that is
// in a sink, a handler or an observer, nothing can wait for the relay: see Stop and Drain.
//
// Do not fork with a running relay: a child has none of its threads, and destroying or stopping the
// relay there waits for ever or crashes. Start relays after the fork, or let the child exec.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "outbox/observer.h"
#include "outbox/options.h"
#include "outbox/sink.h"
#include "outbox/status.h"

namespace outbox {

// Totals since the start.
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
  // `sqlite:PATH`. Fails at once on anything that waiting would not cure; a database that is away
  // is waited for in the background only after the first connection succeeded.
  static Result<std::unique_ptr<Relay>> Start(const std::string& database, RelayOptions options,
                                              std::shared_ptr<Sink> sink,
                                              std::shared_ptr<RelayObserver> observer = nullptr);

  // Stops as Stop() does.
  virtual ~Relay() = default;

  // No new claims; what is being published is finished, what is only claimed is released. Returns
  // when done, at the latest shutdown_timeout (and a moment for the last settle) from now. A
  // failure says what had to be left behind. Calling it again returns the same answer.
  //
  // In a sink, a handler or an observer of this relay it only asks it to stop, and returns
  // kCancelled at once; what is being published is still finished. Another thread may wait by
  // calling it too, or by destroying the relay.
  virtual Status Stop() = 0;

  // Blocks until no message is left that is due, leased or waiting for a retry; messages delayed
  // by their producer do not count. Fails with kDeadline, or with the reason the relay stopped;
  // with kCancelled at once in a sink, a handler or an observer of this relay. Several may wait at
  // once.
  virtual Status Drain(Deadline deadline) = 0;

  // Messages may have been committed: look at once instead of at the next poll.
  virtual void Wake() = 0;

  // Claims nothing until Resume: what waits here is given back, what is being published is
  // finished. For people who repair a sink or look into a table. Lasts as long as the relay.
  virtual void Pause() = 0;
  virtual void Resume() = 0;

  virtual RelayStats Stats() const = 0;
};

}  // namespace outbox
