#include "store/postgres/lease_claim.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "sql/postgres.h"

namespace outbox::store::postgres {
namespace {

using sql::postgres::kExtendLease;
using sql::postgres::kExtendLeaseById;
using sql::postgres::kSettle;
using sql::postgres::kSettleById;
using sql::postgres::kSettleDeliveredDelete;
using sql::postgres::kSettleDeliveredKeep;

// Those of `all` that are not in `touched`, a set of flags by message index.
std::vector<Outcome> Missing(std::span<const Outcome> all, const std::vector<bool>& touched) {
  std::vector<Outcome> missing;
  for (const Outcome& outcome : all) {
    if (!touched[outcome.index]) missing.push_back(outcome);
  }
  return missing;
}

}  // namespace

SettleLane::SettleLane(std::shared_ptr<const Address> address, const message::TableName& table,
                       bool keep, bool async)
    : connection(std::move(address), Plans::kPinned),
      keep_delivered(keep),
      async_ack(async),
      settle(table, kSettle),
      settle_by_id(table, kSettleById),
      settle_delivered(table, keep ? kSettleDeliveredKeep : kSettleDeliveredDelete),
      extend(table, kExtendLease),
      extend_by_id(table, kExtendLeaseById) {}

LeaseClaim::LeaseClaim(std::shared_ptr<SettleLane> lane, std::string token,
                       std::vector<Message> messages, std::vector<ClaimedRow> rows,
                       std::vector<Message> exhausted)
    : lane_(std::move(lane)),
      token_(std::move(token)),
      messages_(std::move(messages)),
      rows_(std::move(rows)),
      exhausted_(std::move(exhausted)) {
  by_seq_.reserve(messages_.size());
  for (std::uint32_t i = 0; i < messages_.size(); ++i) by_seq_.emplace_back(messages_[i].seq, i);
  std::sort(by_seq_.begin(), by_seq_.end());
}

std::uint32_t LeaseClaim::IndexOf(std::int64_t seq) const {
  const auto found = std::lower_bound(by_seq_.begin(), by_seq_.end(), std::pair(seq, 0U));
  OUTBOX_CHECK(found != by_seq_.end() && found->first == seq);
  return found->second;
}

std::size_t LeaseClaim::UnsettledCount() const {
  return static_cast<std::size_t>(std::count_if(
      rows_.begin(), rows_.end(), [](const ClaimedRow& row) { return !row.settled; }));
}

Result<Rows> LeaseClaim::Write(const Statement& statement, const Params& params,
                               Deadline deadline) {
  static const Statement kBegin("BEGIN");
  static const Statement kAsync("SET LOCAL synchronous_commit TO off");
  static const Statement kCommit("COMMIT");
  if (!lane_->async_ack) return lane_->connection.Execute(statement, params, deadline);
  const Params none;
  const std::array<Connection::Step, 4> steps{
      {{&kBegin, &none}, {&kAsync, &none}, {&statement, &params}, {&kCommit, &none}}};
  OUTBOX_ASSIGN_OR_RETURN(auto rows, lane_->connection.Pipeline(steps, deadline));
  return std::move(rows[2]);
}

Result<Rows> LeaseClaim::SettleByTid(std::span<const Outcome> outcomes, Deadline deadline) {
  const Settlement settlement(outcomes, messages_, rows_);
  // The fast statement compares no seq: it is right only when every row with our token is meant.
  if (settlement.AllDelivered() && outcomes.size() == UnsettledCount()) {
    Params params;
    params.TidArray(settlement.tids).Text(token_);
    return Write(lane_->settle_delivered, params, deadline);
  }
  Params params = settlement.ByTid();
  params.Text(token_).Bool(lane_->keep_delivered);
  return Write(lane_->settle, params, deadline);
}

Result<SettleReport> LeaseClaim::Settle(std::span<const Outcome> outcomes, Deadline deadline) {
  SettleReport report;
  if (outcomes.empty()) return report;
  const std::lock_guard lock(lane_->mutex);
  std::vector<bool> touched(messages_.size(), false);
  const auto note = [&](const Rows& rows) {
    for (int row = 0; row < rows.size(); ++row) touched[IndexOf(rows.Int8(row, 0))] = true;
  };
  OUTBOX_ASSIGN_OR_RETURN(const Rows by_tid, SettleByTid(outcomes, deadline));
  note(by_tid);
  if (const auto moved = Missing(outcomes, touched); !moved.empty()) {
    Params params = Settlement(moved, messages_, rows_).ById();
    params.Text(token_).Bool(lane_->keep_delivered);
    OUTBOX_ASSIGN_OR_RETURN(const Rows by_id, Write(lane_->settle_by_id, params, deadline));
    note(by_id);
  }
  for (const Outcome& outcome : outcomes) {
    rows_[outcome.index].settled = true;
    if (!touched[outcome.index]) report.lost.push_back(outcome.index);
  }
  return report;
}

Result<std::vector<std::uint32_t>> LeaseClaim::Extend(std::chrono::milliseconds lease,
                                                      Deadline deadline) {
  const std::lock_guard lock(lane_->mutex);
  std::vector<Tid> tids;
  for (const ClaimedRow& row : rows_) {
    if (!row.settled) tids.push_back(row.tid);
  }
  std::vector<std::uint32_t> missing;
  if (tids.empty()) return missing;
  Params params;
  params.TidArray(tids).Text(token_).Int8(lease.count());
  OUTBOX_ASSIGN_OR_RETURN(const Rows extended,
                          lane_->connection.Execute(lane_->extend, params, deadline));
  std::vector<bool> touched(messages_.size(), false);
  for (int row = 0; row < extended.size(); ++row) {
    const std::uint32_t index = IndexOf(extended.Int8(row, 0));
    rows_[index].tid = extended.TidAt(row, 1);
    touched[index] = true;
  }
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    if (!rows_[i].settled && !touched[i]) missing.push_back(i);
  }
  if (!missing.empty()) OUTBOX_RETURN_IF_ERROR(ExtendById(lease, missing, deadline));
  return missing;
}

// Takes those it finds out of `missing`.
Status LeaseClaim::ExtendById(std::chrono::milliseconds lease, std::vector<std::uint32_t>& missing,
                              Deadline deadline) {
  std::vector<Uuid> ids;
  for (const std::uint32_t index : missing) ids.push_back(messages_[index].id);
  Params params;
  params.UuidArray(ids).Text(token_).Int8(lease.count());
  OUTBOX_ASSIGN_OR_RETURN(const Rows extended,
                          lane_->connection.Execute(lane_->extend_by_id, params, deadline));
  for (int row = 0; row < extended.size(); ++row) {
    const std::uint32_t index = IndexOf(extended.Int8(row, 0));
    rows_[index].tid = extended.TidAt(row, 1);
    std::erase(missing, index);
  }
  return Status::Ok();
}

}  // namespace outbox::store::postgres
