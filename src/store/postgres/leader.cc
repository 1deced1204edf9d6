#include "store/postgres/leader.h"

#include <bit>
#include <mutex>

#include "base/text.h"
#include "sql/postgres.h"
#include "store/postgres/fnv.h"

namespace outbox::store::postgres {
namespace {

// Letting go is a courtesy to the successor; a server that does not answer ends the session anyway.
constexpr std::chrono::seconds kUnlockWait{2};

std::int64_t LockKey(std::string_view purpose, const std::string& name) {
  return std::bit_cast<std::int64_t>(Fnv1a(base::StrCat(purpose, name)));
}

Result<bool> TryLock(Connection& connection, std::int64_t key, Deadline deadline) {
  static const Statement kTryLock(sql::postgres::kTryLock);
  Params params;
  params.Int8(key);
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, connection.Execute(kTryLock, params, deadline));
  if (connection.pooled()) {
    return Status::Invalid("single-active mode does not work through a connection pooler")
        .WithHint("give the relay an address that leads to PostgreSQL directly");
  }
  return rows.Bool(0, 0);
}

void Unlock(Connection& connection, std::int64_t key, Connection::SessionId session) {
  static const Statement kUnlock(sql::postgres::kUnlock);
  if (connection.session() != session) return;
  Params params;
  params.Int8(key);
  const auto unlocked = connection.Execute(kUnlock, params, Deadline::After(kUnlockWait), session);
  if (!unlocked.ok()) connection.Close();
}

}  // namespace

Leader::Leader(Connection& claims, std::shared_ptr<SettleLane> settles, const std::string& name)
    : claims_(claims),
      settles_(std::move(settles)),
      claim_key_(LockKey("outbox:", name)),
      dispatch_key_(LockKey("outbox-dispatch:", name)) {}

Result<bool> Leader::TryLead(Deadline deadline) {
  if (Confirmed()) return true;
  OUTBOX_ASSIGN_OR_RETURN(const bool claim_locked, LockClaims(deadline));
  if (!claim_locked) return false;
  const auto dispatch_locked = LockDispatch(deadline);
  if (!dispatch_locked.ok() || !*dispatch_locked) {
    UnlockClaims();
    return dispatch_locked;
  }
  required_session_ = claim_locked_in_;
  return true;
}

bool Leader::Confirmed() {
  if (claim_locked_in_ == 0 || dispatch_locked_in_ == 0) return false;
  if (!claims_.Healthy() || claims_.session() != claim_locked_in_) return false;
  // Busy settling is a sign of life; a failure there closes the session, which shows in its number.
  if (const std::unique_lock lock(settles_->mutex, std::try_to_lock); lock.owns_lock()) {
    settles_->connection.Healthy();
  }
  return settles_->connection.session() == dispatch_locked_in_;
}

Result<bool> Leader::LockClaims(Deadline deadline) {
  if (claim_locked_in_ != 0 && claims_.Healthy() && claims_.session() == claim_locked_in_) {
    return true;
  }
  claim_locked_in_ = 0;
  OUTBOX_ASSIGN_OR_RETURN(const bool locked, TryLock(claims_, claim_key_, deadline));
  if (locked) claim_locked_in_ = claims_.session();
  return locked;
}

Result<bool> Leader::LockDispatch(Deadline deadline) {
  const std::lock_guard lock(settles_->mutex);
  Connection& connection = settles_->connection;
  if (dispatch_locked_in_ != 0 && connection.Healthy() &&
      connection.session() == dispatch_locked_in_) {
    return true;
  }
  dispatch_locked_in_ = 0;
  OUTBOX_ASSIGN_OR_RETURN(const bool locked, TryLock(connection, dispatch_key_, deadline));
  if (locked) dispatch_locked_in_ = connection.session();
  return locked;
}

void Leader::UnlockClaims() {
  if (claim_locked_in_ != 0) Unlock(claims_, claim_key_, claim_locked_in_);
  claim_locked_in_ = 0;
}

void Leader::Stop() noexcept {
  UnlockClaims();
  if (dispatch_locked_in_ != 0) {
    const std::lock_guard lock(settles_->mutex);
    Unlock(settles_->connection, dispatch_key_, dispatch_locked_in_);
  }
  dispatch_locked_in_ = 0;
  required_session_.reset();
}

}  // namespace outbox::store::postgres
