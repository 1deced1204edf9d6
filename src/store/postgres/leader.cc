#include "store/postgres/leader.h"

#include <limits>
#include <mutex>
#include <utility>

#include "base/random.h"
#include "sql/postgres.h"

namespace outbox::store::postgres {
namespace {

// Letting go is a courtesy to the successor; a server that does not answer ends the session anyway.
constexpr std::chrono::seconds kLetGoWait{2};

std::int64_t RandomMark() { return static_cast<std::int64_t>(base::RandomBits() >> 1); }

Status LeaderTableMissing() {
  return Status::Permanent(Code::kSchema, "this database has no table outbox.leader")
      .WithHint("run: outboxd migrate up --table T, for any of its outbox tables");
}

// The session that is marked afterwards; 0 when it could not be.
Connection::SessionId MarkSession(Connection& connection, std::int64_t mark, Deadline deadline) {
  static const Statement& kMark = *new Statement(sql::postgres::kMarkSession);
  if (!connection.Open(deadline).ok() || connection.pooled()) return 0;
  const Connection::SessionId session = connection.session();
  Params params;
  params.Int8(mark);
  const auto marked = connection.Execute(kMark, params, deadline, session);
  return marked.ok() && marked->Bool(0, 0) ? session : 0;
}

void UnmarkSession(Connection& connection, std::int64_t mark, Connection::SessionId session) {
  static const Statement& kUnmark = *new Statement(sql::postgres::kUnmarkSession);
  if (session == 0 || connection.session() != session) return;
  Params params;
  params.Int8(mark);
  if (!connection.Execute(kUnmark, params, Deadline::After(kLetGoWait), session).ok()) {
    connection.Close();
  }
}

}  // namespace

Leader::Leader(Connection& claims, std::shared_ptr<SettleLane> settles, LeaderOptions options)
    : claims_(claims),
      settles_(std::move(settles)),
      options_(std::move(options)),
      mark_(RandomMark()) {}

Result<Leadership> Leader::TryLead(Deadline deadline) {
  if (ends_ && Clock::now() < renew_at_ && MarksStand()) return ends_;
  if (ends_) Mark(deadline);
  OUTBOX_ASSIGN_OR_RETURN(bool leads, Ask(deadline));
  // A standby marks nothing; a new leader tells of its marks once they are there.
  if (leads && claims_marked_ == 0) {
    Mark(deadline);
    if (claims_marked_ != 0) {
      OUTBOX_ASSIGN_OR_RETURN(leads, Ask(deadline));
    }
  }
  if (!leads) {
    ends_.reset();
    Unmark();
  }
  return ends_;
}

bool Leader::Lapsed() const { return ends_ && Clock::now() >= *ends_; }

Result<bool> Leader::Ask(Deadline deadline) {
  static const Statement& kLead = *new Statement(sql::postgres::kLead);
  Params params;
  params.Text(options_.name).Text(options_.token);
  if (claims_marked_ != 0 || settles_marked_ != 0) {
    params.Int8(mark_);
  } else {
    params.Null();
  }
  params.Int8(options_.lease.count());
  const Clock::time_point asked = Clock::now();
  const auto rows = claims_.Execute(kLead, params, deadline);
  if (!rows.ok()) {
    return rows.error().code() == Code::kNotFound ? LeaderTableMissing() : rows.error();
  }
  if (rows->size() == 0) return false;
  ends_ = asked + options_.lease;
  renew_at_ = asked + options_.lease / 3;
  return true;
}

bool Leader::MarksStand() {
  if (claims_marked_ == 0) return true;
  // Busy settling is a sign of life; a failure there closes the session, which shows in its number.
  if (const std::unique_lock lock(settles_->mutex, std::try_to_lock); lock.owns_lock()) {
    settles_->connection.Healthy();
  }
  return claims_.Healthy() && claims_.session() == claims_marked_ &&
         settles_->connection.session() == settles_marked_;
}

void Leader::Mark(Deadline deadline) {
  if (claims_marked_ == 0 || !claims_.Healthy() || claims_.session() != claims_marked_) {
    claims_marked_ = MarkSession(claims_, mark_, deadline);
  }
  // Busy settling: the next time.
  const std::unique_lock lock(settles_->mutex, std::try_to_lock);
  if (!lock.owns_lock()) return;
  Connection& settles = settles_->connection;
  if (settles_marked_ == 0 || !settles.Healthy() || settles.session() != settles_marked_) {
    settles_marked_ = MarkSession(settles, mark_, deadline);
  }
}

void Leader::Unmark() {
  UnmarkSession(claims_, mark_, std::exchange(claims_marked_, 0));
  const Connection::SessionId settles_marked = std::exchange(settles_marked_, 0);
  if (settles_marked == 0) return;
  const std::lock_guard lock(settles_->mutex);
  UnmarkSession(settles_->connection, mark_, settles_marked);
}

void Leader::Stop() noexcept {
  static const Statement& kResign = *new Statement(sql::postgres::kResign);
  if (ends_) {
    Params params;
    params.Text(options_.name).Text(options_.token);
    // What is not let go runs out.
    (void)claims_.Execute(kResign, params, Deadline::After(kLetGoWait));
    ends_.reset();
  }
  Unmark();
}

}  // namespace outbox::store::postgres
