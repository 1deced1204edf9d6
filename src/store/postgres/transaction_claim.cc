#include "store/postgres/transaction_claim.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "sql/postgres.h"

namespace outbox::store::postgres {
namespace {

// Rolling back is local work for the server; one that does not answer gets the connection closed.
constexpr std::chrono::seconds kRollbackWait{2};

}  // namespace

TransactionLanes::TransactionLanes(std::shared_ptr<const Address> address,
                                   const message::TableName& table,
                                   const RelayStoreOptions& options)
    : keep_delivered(options.keep_delivered),
      async_ack(options.async_ack),
      history(options.attempt_history),
      worker(options.relay_id),
      settle(table, history == AttemptHistory::kOff ? sql::postgres::kSettleTransaction
                                                    : sql::postgres::kSettleTransactionNoted),
      note_cut_off(table, sql::postgres::kNoteCutOff),
      address_(std::move(address)) {}

std::unique_ptr<Connection> TransactionLanes::Take() {
  const std::lock_guard lock(mutex_);
  if (taken_ == kLanesMax) return nullptr;
  ++taken_;
  if (free_.empty()) return std::make_unique<Connection>(address_, Plans::kPinned);
  auto connection = std::move(free_.back());
  free_.pop_back();
  return connection;
}

void TransactionLanes::Return(std::unique_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  OUTBOX_CHECK(taken_ > 0);
  --taken_;
  free_.push_back(std::move(connection));
}

TransactionClaim::TransactionClaim(std::shared_ptr<TransactionLanes> lanes,
                                   std::unique_ptr<Connection> connection,
                                   std::unique_ptr<const ClaimedMessages> messages,
                                   std::vector<ClaimedRow> rows, bool any_in_doubt,
                                   std::vector<Message> exhausted)
    : lanes_(std::move(lanes)),
      connection_(std::move(connection)),
      session_(connection_->session()),
      messages_(std::move(messages)),
      rows_(std::move(rows)),
      any_in_doubt_(any_in_doubt),
      exhausted_(std::move(exhausted)),
      open_(!rows_.empty()) {}

TransactionClaim::~TransactionClaim() {
  if (open_) {
    const Status rolled_back = connection_->Run("ROLLBACK", Deadline::After(kRollbackWait));
    if (!rolled_back.ok()) connection_->Close();
  }
  lanes_->Return(std::move(connection_));
}

std::vector<std::uint32_t> TransactionClaim::AllLost() const {
  std::vector<std::uint32_t> lost(rows_.size());
  std::iota(lost.begin(), lost.end(), 0U);
  return lost;
}

Result<SettleReport> TransactionClaim::Settle(std::span<const Outcome> outcomes,
                                              Deadline deadline) {
  if (outcomes.empty()) return SettleReport{};
  if (!open_) return SettleReport{.lost = AllLost()};
  for (const Outcome& outcome : outcomes) {
    // The same outcomes come again after a failure.
    if (std::exchange(rows_[outcome.index].settled, true)) continue;
    outcomes_.push_back(outcome);
  }
  if (outcomes_.size() < rows_.size()) return SettleReport{};
  return Commit(deadline);
}

Result<SettleReport> TransactionClaim::Commit(Deadline deadline) {
  open_ = false;
  if (!connection_->Healthy() || connection_->session() != session_) {
    connection_->Close();
    return SettleReport{.lost = AllLost()};
  }
  const auto written = Write(deadline);
  if (written.ok()) return Missing(*written);
  connection_->Close();
  if (written.error().disposition() == Disposition::kInDoubt) return written.error();
  return Status::Permanent(written.error().code(), written.error().message())
      .WithHint(written.error().hint())
      .WithNative(written.error().native());
}

Result<Rows> TransactionClaim::Write(Deadline deadline) {
  static const Statement& kAsync = *new Statement("SET LOCAL synchronous_commit TO off");
  static const Statement& kCommit = *new Statement("COMMIT");
  std::vector<Outcome> outcomes;
  std::copy_if(outcomes_.begin(), outcomes_.end(), std::back_inserter(outcomes),
               [](const Outcome& outcome) { return !outcome.untouched; });
  const Settlement settlement(outcomes, messages(), rows_);
  const bool noted = lanes_->history != AttemptHistory::kOff;
  const Params none;
  Params cut_off;
  cut_off.TidArray(settlement.tids).Text("");
  Params params = settlement.ByTid();
  params.Bool(lanes_->keep_delivered);
  if (noted) {
    params.TextArray(ErrorClasses(outcomes)).Bool(lanes_->history == AttemptHistory::kAll);
    params.Text(lanes_->worker);
  }
  std::vector<Connection::Step> steps;
  if (noted) steps.push_back({&lanes_->note_cut_off, &cut_off});
  steps.push_back({&lanes_->settle, &params});
  if (lanes_->async_ack) steps.push_back({&kAsync, &none});
  steps.push_back({&kCommit, &none});
  OUTBOX_ASSIGN_OR_RETURN(auto rows, connection_->Pipeline(steps, deadline, session_));
  return std::move(rows[noted ? 1 : 0]);
}

// Rows that are locked can not go away, but a trigger of the user's can refuse a change.
SettleReport TransactionClaim::Missing(const Rows& touched) const {
  std::unordered_set<std::int64_t> seqs;
  for (int row = 0; row < touched.size(); ++row) seqs.insert(touched.Int8(row, 0));
  SettleReport report;
  for (const Outcome& outcome : outcomes_) {
    if (outcome.untouched || seqs.contains(rows_[outcome.index].seq)) continue;
    report.lost.push_back(outcome.index);
  }
  return report;
}

Result<std::vector<std::uint32_t>> TransactionClaim::Extend(std::chrono::milliseconds,
                                                            Deadline deadline) {
  static const Statement& kStillHere = *new Statement("SELECT 1");
  if (open_ && connection_->Healthy() &&
      connection_->Execute(kStillHere, Params(), deadline, session_).ok()) {
    return std::vector<std::uint32_t>{};
  }
  if (std::exchange(open_, false)) connection_->Close();
  return AllLost();
}

}  // namespace outbox::store::postgres
