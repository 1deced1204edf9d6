#include "store/memory/memory_claim.h"

#include <utility>

#include "base/check.h"

namespace outbox::store {

MemoryClaim::MemoryClaim(MemoryStore& store, const RelayStoreOptions& options, std::string token,
                         std::vector<Message> messages, std::vector<Message> exhausted)
    : store_(store),
      lease_(options.claim_mode == ClaimMode::kLease),
      keep_delivered_(options.keep_delivered),
      history_(options.attempt_history),
      token_(std::move(token)),
      messages_(std::move(messages)),
      exhausted_(std::move(exhausted)),
      settled_(messages_.size()) {}

MemoryClaim::~MemoryClaim() {
  if (lease_) return;
  const std::lock_guard lock(store_.mutex_);
  for (const Message& message : messages_) {
    StoredMessage* row = store_.FindOwned(message.seq, token_);
    if (row != nullptr) Apply(*row, {.kind = Outcome::Kind::kReleased});
  }
}

Result<SettleReport> MemoryClaim::Settle(std::span<const Outcome> outcomes, Deadline) {
  const std::lock_guard lock(store_.mutex_);
  OUTBOX_RETURN_IF_ERROR(store_.TakeFailure(MemoryStore::Call::kSettle));
  SettleReport report;
  for (const Outcome& outcome : outcomes) {
    OUTBOX_CHECK(outcome.index < messages_.size());
    StoredMessage* row = store_.FindOwned(messages_[outcome.index].seq, token_);
    if (row != nullptr) {
      Note(*row, outcome);
      Apply(*row, outcome);
    } else {
      report.lost.push_back(outcome.index);
    }
  }
  OUTBOX_RETURN_IF_ERROR(std::exchange(store_.lost_answer_, Status::Ok()));
  for (const Outcome& outcome : outcomes) settled_[outcome.index] = true;
  return report;
}

Result<std::vector<std::uint32_t>> MemoryClaim::Extend(std::chrono::milliseconds lease, Deadline) {
  std::vector<std::uint32_t> lost;
  if (!lease_) return lost;
  const std::lock_guard lock(store_.mutex_);
  OUTBOX_RETURN_IF_ERROR(store_.TakeFailure(MemoryStore::Call::kExtend));
  for (std::uint32_t index = 0; index < messages_.size(); ++index) {
    if (settled_[index]) continue;
    StoredMessage* row = store_.FindOwned(messages_[index].seq, token_);
    if (row != nullptr) {
      row->locked_until = store_.Now() + lease;
    } else {
      lost.push_back(index);
    }
  }
  return lost;
}

void MemoryClaim::Note(const StoredMessage& row, const Outcome& outcome) {
  if (!IsNoted(history_, outcome)) return;
  const bool classified = outcome.error_class != Disposition::kNone;
  const bool failed = outcome.kind != Outcome::Kind::kDelivered;
  store_.attempts_[row.message.seq].push_back(
      {.destination = {},
       .attempt = row.message.attempt,
       .worker = std::string(WorkerOf(token_)),
       .started_at = row.updated_at,
       .ended_at = store_.Now(),
       .result = ResultOf(outcome.kind),
       .error_class = classified ? std::string(ToString(outcome.error_class)) : "",
       .error = failed ? outcome.error : ""});
}

void MemoryClaim::Apply(StoredMessage& row, const Outcome& outcome) {
  const Timestamp now = store_.Now();
  row.locked_by.clear();
  row.locked_until.reset();
  row.updated_at = now;
  switch (outcome.kind) {
    case Outcome::Kind::kDelivered:
      row.status = MessageStatus::kDelivered;
      row.processed_at = now;
      row.last_error.clear();
      if (!keep_delivered_) store_.Erase(row.message.seq);
      return;
    case Outcome::Kind::kRetry:
      row.status = MessageStatus::kPending;
      row.message.in_doubt = false;
      row.message.available_at = now + outcome.retry_in;
      row.last_error = outcome.error;
      return;
    case Outcome::Kind::kDead:
      row.status = MessageStatus::kDead;
      row.message.available_at = Timestamp::max();
      row.last_error = outcome.error;
      return;
    case Outcome::Kind::kReleased:
      row.status = MessageStatus::kPending;
      --row.message.attempt;
      if (!outcome.postponed()) return;
      row.message.available_at = now + outcome.retry_in;
      row.last_error = outcome.error;
      return;
  }
}

}  // namespace outbox::store
