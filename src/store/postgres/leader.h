// Leader: one relay at a time per table, by a lease in the table outbox.leader.
//
// The lead lasts for the lease, by the database's clock, and is renewed at a third of it. A relay
// that stands still, or whose host vanished, is followed by another when its lease has run out. One
// that crashed is followed at once: a leader marks its two sessions (the one that claims and the
// one that settles) by an advisory lock under a random number, and writes that number beside its
// lease; when the mark is in no session any more, its process is gone. Losing one session of two
// loses nothing.
//
// Behind a pooler there are no sessions to mark, and only the lease decides. Nobody but relays may
// write to the table, and whoever holds an advisory lock keeps nobody from leading for longer than
// a lease.
//
// Confirming costs no query until the lead is due for renewal.
//
// Threads: one at a time; the settle connection is shared through its lane's mutex.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "store/postgres/connection.h"
#include "store/postgres/lease_claim.h"
#include "store/relay_store.h"

namespace outbox::store::postgres {

struct LeaderOptions {
  std::string name;   // what is led: a table, or its deliveries to one destination
  std::string token;  // unique to this relay
  std::chrono::milliseconds lease{0};
};

class Leader {
 public:
  // `claims` must outlive the leader.
  Leader(Connection& claims, std::shared_ptr<SettleLane> settles, LeaderOptions options);

  // As RelayStore's.
  Result<Leadership> TryLead(Deadline deadline);
  void Stop() noexcept;

  // It led, and has neither renewed the lead in time nor given it up.
  bool Lapsed() const;

 private:
  using Clock = std::chrono::steady_clock;

  // Whether this relay leads now. Sets ends_.
  Result<bool> Ask(Deadline deadline);
  // True while the marks are where they were set.
  bool MarksStand();
  // Marks the sessions that are not marked yet.
  void Mark(Deadline deadline);
  void Unmark();

  Connection& claims_;
  const std::shared_ptr<SettleLane> settles_;
  const LeaderOptions options_;
  const std::int64_t mark_;
  // Sessions that are marked; 0 is none.
  Connection::SessionId claims_marked_ = 0;
  Connection::SessionId settles_marked_ = 0;
  Leadership ends_;
  Clock::time_point renew_at_{};
};

}  // namespace outbox::store::postgres
