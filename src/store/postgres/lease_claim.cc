#include "store/postgres/lease_claim.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "sql/postgres.h"

namespace outbox::store::postgres {
namespace {

using sql::postgres::kCompleteMessages;
using sql::postgres::kExtendLease;
using sql::postgres::kForgetAttempts;
using sql::postgres::kSettle;
using sql::postgres::kSettleDeliveredDelete;
using sql::postgres::kSettleDeliveredDeleteNoted;
using sql::postgres::kSettleDeliveredKeep;
using sql::postgres::kSettleDeliveredKeepNoted;
using sql::postgres::kSettleNoted;

constexpr std::string_view kFailpoint = "mid_settle";

bool AllDelivered(std::span<const Outcome> outcomes) {
  return std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) {
    return outcome.kind == Outcome::Kind::kDelivered;
  });
}

message::TableName Leased(const message::TableName& table, LeasedRows rows) {
  return rows == LeasedRows::kMessages ? table : table.Deliveries();
}

// Failures need no note of what was delivered; what is deleted takes its notes along.
std::string_view SettleDelivered(bool keep, AttemptHistory history) {
  if (keep) {
    return history == AttemptHistory::kAll ? kSettleDeliveredKeepNoted : kSettleDeliveredKeep;
  }
  return history == AttemptHistory::kOff ? kSettleDeliveredDelete : kSettleDeliveredDeleteNoted;
}

bool Forgets(const RelayStoreOptions& options, LeasedRows rows) {
  return rows == LeasedRows::kDeliveries && !options.keep_delivered &&
         options.attempt_history != AttemptHistory::kOff;
}

std::optional<Statement> StatementIf(bool wanted, const message::TableName& table,
                                     std::string_view sql) {
  if (!wanted) return std::nullopt;
  return std::optional<Statement>(std::in_place, table, sql);
}

// Those of `all` that are not in `touched`, a set of flags by message index.
std::vector<Outcome> Missing(std::span<const Outcome> all, const std::vector<bool>& touched) {
  std::vector<Outcome> missing;
  for (const Outcome& outcome : all) {
    if (!touched[outcome.index]) missing.push_back(outcome);
  }
  return missing;
}

}  // namespace

void DecidedMessages::Add(const Message& message) {
  ids.push_back(message.id);
  seqs.push_back(message.seq);
}

SettleLane::SettleLane(std::shared_ptr<const Address> address, const message::TableName& table,
                       const RelayStoreOptions& options)
    : SettleLane(std::move(address), table, options,
                 options.destination.empty() ? LeasedRows::kMessages : LeasedRows::kDeliveries) {}

SettleLane::SettleLane(std::shared_ptr<const Address> address, const message::TableName& table,
                       const RelayStoreOptions& options, LeasedRows rows)
    : connection(std::move(address), Plans::kPinned),
      keep_delivered(options.keep_delivered || rows == LeasedRows::kDeliveries),
      async_ack(options.async_ack),
      history(options.attempt_history),
      destination(options.destination),
      worker(options.relay_id),
      settle(Leased(table, rows), history == AttemptHistory::kOff ? kSettle : kSettleNoted,
             kFailpoint),
      settle_delivered(Leased(table, rows), SettleDelivered(keep_delivered, history), kFailpoint),
      extend(Leased(table, rows), kExtendLease),
      complete(StatementIf(rows == LeasedRows::kDeliveries, table, kCompleteMessages)),
      forget(StatementIf(Forgets(options, rows), table, kForgetAttempts)),
      any_completes(options.completion == Completion::kAny),
      keep_messages(options.keep_delivered),
      last_error_bytes_max(static_cast<int>(options.last_error_bytes_max)) {}

void SettleLane::Complete(Connection& on, const DecidedMessages& messages,
                          Deadline deadline) const {
  if (!complete || messages.ids.empty()) return;
  Params params;
  params.UuidArray(messages.ids).Bool(any_completes).Bool(keep_messages).Int4(last_error_bytes_max);
  (void)on.Execute(*complete, params, deadline);
  if (!forget) return;
  Params seqs;
  seqs.Int8Array(messages.seqs);
  (void)on.Execute(*forget, seqs, deadline);
}

LeaseClaim::LeaseClaim(std::shared_ptr<SettleLane> lane, std::string token, Timestamp claimed_at,
                       std::unique_ptr<const ClaimedMessages> messages,
                       std::vector<ClaimedRow> rows, bool any_in_doubt,
                       std::vector<Message> exhausted)
    : lane_(std::move(lane)),
      token_(std::move(token)),
      claimed_at_(claimed_at),
      messages_(std::move(messages)),
      rows_(std::move(rows)),
      any_in_doubt_(any_in_doubt),
      exhausted_(std::move(exhausted)) {}

std::uint32_t LeaseClaim::IndexOf(std::int64_t seq) {
  if (by_seq_.empty()) {
    by_seq_.reserve(rows_.size());
    for (std::uint32_t i = 0; i < rows_.size(); ++i) by_seq_.emplace_back(rows_[i].seq, i);
    std::sort(by_seq_.begin(), by_seq_.end());
  }
  const auto found = std::lower_bound(by_seq_.begin(), by_seq_.end(), std::pair(seq, 0U));
  OUTBOX_CHECK(found != by_seq_.end() && found->first == seq);
  return found->second;
}

Result<Rows> LeaseClaim::Write(const Statement& statement, const Params& params,
                               Deadline deadline) {
  static const Statement& kBegin = *new Statement("BEGIN");
  static const Statement& kAsync = *new Statement("SET LOCAL synchronous_commit TO off");
  static const Statement& kCommit = *new Statement("COMMIT");
  if (!lane_->async_ack) return lane_->connection.Execute(statement, params, deadline);
  const Params none;
  const std::array<Connection::Step, 4> steps{
      {{&kBegin, &none}, {&kAsync, &none}, {&statement, &params}, {&kCommit, &none}}};
  OUTBOX_ASSIGN_OR_RETURN(auto rows, lane_->connection.Pipeline(steps, deadline));
  return std::move(rows[2]);
}

Result<Rows> LeaseClaim::WriteDelivered(std::span<const Outcome> outcomes, Deadline deadline) {
  std::vector<Tid> tids;
  std::vector<std::int64_t> seqs;
  tids.reserve(outcomes.size());
  seqs.reserve(outcomes.size());
  for (const Outcome& outcome : outcomes) {
    tids.push_back(rows_[outcome.index].tid);
    seqs.push_back(rows_[outcome.index].seq);
  }
  Params params;
  params.TidArray(tids).Int8Array(seqs).Text(token_);
  if (lane_->keep_delivered && lane_->history == AttemptHistory::kAll) {
    params.Text(lane_->destination).Text(lane_->worker).Time(claimed_at_);
  }
  return Write(lane_->settle_delivered, params, deadline);
}

Result<Rows> LeaseClaim::WriteAny(std::span<const Outcome> outcomes, Deadline deadline) {
  Params params = Settlement(outcomes, messages(), rows_).ById();
  params.Text(token_).Bool(lane_->keep_delivered);
  if (lane_->history != AttemptHistory::kOff) {
    params.TextArray(ErrorClasses(outcomes)).Bool(lane_->history == AttemptHistory::kAll);
    params.Text(lane_->destination).Text(lane_->worker).Time(claimed_at_);
  }
  return Write(lane_->settle, params, deadline);
}

Result<SettleReport> LeaseClaim::Settle(std::span<const Outcome> outcomes, Deadline deadline) {
  SettleReport report;
  if (outcomes.empty()) return report;
  const std::lock_guard lock(lane_->mutex);
  std::vector<bool> touched(rows_.size(), false);
  const auto note = [&](const Rows& rows) {
    for (int row = 0; row < rows.size(); ++row) touched[IndexOf(rows.Int8(row, 0))] = true;
  };
  if (AllDelivered(outcomes)) {
    OUTBOX_ASSIGN_OR_RETURN(const Rows delivered, WriteDelivered(outcomes, deadline));
    note(delivered);
  }
  if (const auto rest = Missing(outcomes, touched); !rest.empty()) {
    OUTBOX_ASSIGN_OR_RETURN(const Rows written, WriteAny(rest, deadline));
    note(written);
  }
  for (const Outcome& outcome : outcomes) {
    rows_[outcome.index].settled = true;
    if (!touched[outcome.index]) report.lost.push_back(outcome.index);
    if (rows_[outcome.index].ordered && outcome.kind != Outcome::Kind::kRetry) {
      lane_->keys.Add(messages()[outcome.index].key);
    }
  }
  CompleteMessages(outcomes, deadline);
  return report;
}

void LeaseClaim::CompleteMessages(std::span<const Outcome> outcomes, Deadline deadline) {
  if (!lane_->complete) return;
  DecidedMessages decided;
  for (const Outcome& outcome : outcomes) {
    if (outcome.kind == Outcome::Kind::kDelivered || outcome.kind == Outcome::Kind::kDead) {
      decided.Add(messages()[outcome.index]);
    }
  }
  lane_->Complete(lane_->connection, decided, deadline);
}

Result<std::vector<std::uint32_t>> LeaseClaim::Extend(std::chrono::milliseconds lease,
                                                      Deadline deadline) {
  const std::lock_guard lock(lane_->mutex);
  std::vector<std::uint32_t> missing;
  std::vector<Uuid> ids;
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    if (!rows_[i].settled) ids.push_back(messages()[i].id);
  }
  if (ids.empty()) return missing;
  Params params;
  params.UuidArray(ids).Text(token_).Int8(lease.count());
  OUTBOX_ASSIGN_OR_RETURN(const Rows extended,
                          lane_->connection.Execute(lane_->extend, params, deadline));
  std::vector<bool> touched(rows_.size(), false);
  for (int row = 0; row < extended.size(); ++row) {
    const std::uint32_t index = IndexOf(extended.Int8(row, 0));
    rows_[index].tid = extended.TidAt(row, 1);
    touched[index] = true;
  }
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    if (!rows_[i].settled && !touched[i]) missing.push_back(i);
  }
  return missing;
}

}  // namespace outbox::store::postgres
