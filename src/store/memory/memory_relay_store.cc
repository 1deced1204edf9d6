#include "store/memory/memory_relay_store.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "message/validate.h"
#include "store/memory/memory_claim.h"

namespace outbox::store {
namespace {

void Bury(StoredMessage& row, Timestamp now) {
  row.last_error = base::StrCat(
      "gave up after ", row.message.attempt,
      " attempts: the last one ended without an outcome (its relay crashed or lost its lease)",
      row.last_error.empty() ? "" : "; before that: ", row.last_error);
  row.status = MessageStatus::kDead;
  row.message.available_at = Timestamp::max();
  row.locked_by.clear();
  row.locked_until.reset();
  row.updated_at = now;
}

}  // namespace

// Registers its callback for as long as it lives.
class MemoryWatch final : public Watch {
 public:
  MemoryWatch(MemoryStore& store, std::function<void()> on_work) : store_(store) {
    const std::lock_guard lock(store_.watch_mutex_);
    store_.watches_.emplace(this, std::move(on_work));
  }
  ~MemoryWatch() override {
    const std::lock_guard lock(store_.watch_mutex_);
    store_.watches_.erase(this);
  }

 private:
  MemoryStore& store_;
};

MemoryRelayStore::MemoryRelayStore(MemoryStore& store, RelayStoreOptions options)
    : store_(store), options_(std::move(options)) {
  const std::lock_guard lock(store_.mutex_);
  ++store_.relay_stores_;
}

MemoryRelayStore::~MemoryRelayStore() {
  StopLeading();
  const std::lock_guard lock(store_.mutex_);
  --store_.relay_stores_;
  store_.relay_store_closed_.notify_all();
}

RelayStoreTraits MemoryRelayStore::traits() const noexcept {
  return {.leases = options_.claim_mode == ClaimMode::kLease, .watch_is_free = true};
}

bool MemoryRelayStore::Wanted(const Message& message) const {
  const RelayFilter& filter = options_.filter;
  if (filter.name_space && message.name_space != *filter.name_space) return false;
  if (filter.tenant_id && message.tenant_id != filter.tenant_id) return false;
  return filter.topics.empty() ||
         std::any_of(filter.topics.begin(), filter.topics.end(), [&](const std::string& pattern) {
           return message::TopicMatches(pattern, message.topic);
         });
}

std::vector<StoredMessage*> MemoryRelayStore::DueRows(std::size_t limit, Timestamp now) {
  std::vector<StoredMessage*> due;
  for (auto& [seq, row] : store_.rows_) {
    const bool held = !row.locked_by.empty() && (!row.locked_until || *row.locked_until > now);
    if (row.processed_at || row.message.available_at > now || held) continue;
    if (Wanted(row.message)) due.push_back(&row);
  }
  std::sort(due.begin(), due.end(), [](const StoredMessage* a, const StoredMessage* b) {
    return std::tie(a->message.available_at, a->message.seq) <
           std::tie(b->message.available_at, b->message.seq);
  });
  if (due.size() > limit) due.resize(limit);
  return due;
}

void MemoryRelayStore::NoteCutOff(const StoredMessage& row) {
  if (options_.attempt_history == AttemptHistory::kOff) return;
  store_.attempts_[row.message.seq].push_back({.destination = {},
                                               .attempt = row.message.attempt,
                                               .worker = std::string(WorkerOf(row.locked_by)),
                                               .started_at = row.updated_at,
                                               .ended_at = row.locked_until.value_or(store_.Now()),
                                               .result = AttemptResult::kNoOutcome,
                                               .error_class = {},
                                               .error = {}});
}

Result<std::unique_ptr<Claim>> MemoryRelayStore::Next(const ClaimRequest& request, Deadline) {
  const std::lock_guard lock(store_.mutex_);
  OUTBOX_RETURN_IF_ERROR(store_.TakeFailure(MemoryStore::Call::kNext));
  const Timestamp now = store_.Now();
  const bool lease = traits().leases;
  std::string token = base::StrCat(options_.relay_id, "/", ++store_.last_token_);
  std::vector<Message> messages;
  std::vector<Message> exhausted;
  for (StoredMessage* row : DueRows(request.limit, now)) {
    if (row->status == MessageStatus::kProcessing) NoteCutOff(*row);
    if (request.attempts_max && row->message.attempt >= *request.attempts_max) {
      exhausted.push_back(row->message);
      Bury(*row, now);
      continue;
    }
    if (row->status == MessageStatus::kProcessing) row->message.in_doubt = true;
    row->status = MessageStatus::kProcessing;
    row->locked_by = token;
    row->locked_until.reset();
    if (lease) row->locked_until = now + request.lease;
    row->updated_at = now;
    ++row->message.attempt;
    messages.push_back(row->message);
  }
  return std::unique_ptr<Claim>(std::make_unique<MemoryClaim>(
      store_, options_, std::move(token), std::move(messages), std::move(exhausted)));
}

Result<Leadership> MemoryRelayStore::TryLead(Deadline) {
  const std::lock_guard lock(store_.mutex_);
  OUTBOX_RETURN_IF_ERROR(store_.TakeFailure(MemoryStore::Call::kTryLead));
  if (store_.leader_ == nullptr) store_.leader_ = this;
  if (store_.leader_ != this) return Leadership();
  return Leadership(std::chrono::steady_clock::time_point::max());
}

void MemoryRelayStore::StopLeading() noexcept {
  const std::lock_guard lock(store_.mutex_);
  if (store_.leader_ == this) store_.leader_ = nullptr;
}

Result<bool> MemoryRelayStore::Drained(Deadline) {
  const std::lock_guard lock(store_.mutex_);
  OUTBOX_RETURN_IF_ERROR(store_.TakeFailure(MemoryStore::Call::kDrained));
  const Timestamp now = store_.Now();
  return std::none_of(store_.rows_.begin(), store_.rows_.end(), [&](const auto& entry) {
    const StoredMessage& row = entry.second;
    const bool live =
        row.status == MessageStatus::kPending || row.status == MessageStatus::kProcessing;
    return live && (row.message.available_at <= now || row.message.attempt > 0) &&
           Wanted(row.message);
  });
}

Result<std::unique_ptr<Watch>> MemoryRelayStore::WatchForWork(std::function<void()> on_work,
                                                              Deadline) {
  return std::unique_ptr<Watch>(std::make_unique<MemoryWatch>(store_, std::move(on_work)));
}

}  // namespace outbox::store
