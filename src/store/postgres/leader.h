// Leader: one relay at a time per table, by two advisory locks of PostgreSQL.
//
// The claim lock is held by the session that claims, so a claim can succeed only while it is held.
// The dispatch lock is held by the session that settles: a leader whose claim connection broke, but
// which is still publishing, keeps its successor out until it stops leading or dies. Both, or none.
// Locks end with their session; losing a connection is losing the lock, on both sides at once.
//
// Confirming costs no query while both connections stand.
//
// Threads: one at a time; the settle connection is shared through its lane's mutex.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "store/postgres/connection.h"
#include "store/postgres/lease_claim.h"

namespace outbox::store::postgres {

class Leader {
 public:
  // `claims` must outlive the leader. `name` is what is led: a table, or its deliveries to one
  // destination.
  Leader(Connection& claims, std::shared_ptr<SettleLane> settles, const std::string& name);

  // kInvalidArgument through a pooler, which would hand our locks to others.
  Result<bool> TryLead(Deadline deadline);
  void Stop() noexcept;

  // The session that claims must run in: set while leading, or while leadership was lost and not
  // yet given up.
  std::optional<Connection::SessionId> claim_session() const noexcept { return required_session_; }

 private:
  bool Confirmed();
  Result<bool> LockClaims(Deadline deadline);
  Result<bool> LockDispatch(Deadline deadline);
  void UnlockClaims();

  Connection& claims_;
  const std::shared_ptr<SettleLane> settles_;
  const std::int64_t claim_key_;
  const std::int64_t dispatch_key_;
  // Sessions in which the locks were taken; 0 is none.
  Connection::SessionId claim_locked_in_ = 0;
  Connection::SessionId dispatch_locked_in_ = 0;
  std::optional<Connection::SessionId> required_session_;
};

}  // namespace outbox::store::postgres
