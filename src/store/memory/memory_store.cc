#include "store/memory/memory_store.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "store/memory/memory_inspect_store.h"
#include "store/memory/memory_relay_store.h"

namespace outbox::store {
namespace {

constexpr std::chrono::seconds kClosePatience{60};

Timestamp SystemNow() {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

Headers HeadersOf(const NewMessage& message) {
  Headers headers = message.headers;
  if (!message.traceparent.empty()) headers.emplace_back(kTraceparentHeader, message.traceparent);
  if (!message.tracestate.empty()) headers.emplace_back(kTracestateHeader, message.tracestate);
  return headers;
}

}  // namespace

MemoryStore::MemoryStore(Clock clock)
    : clock_(clock ? std::move(clock) : SystemNow), control_(clock_) {}

MemoryStore::~MemoryStore() {
  std::unique_lock lock(mutex_);
  OUTBOX_CHECK(
      relay_store_closed_.wait_for(lock, kClosePatience, [&] { return relay_stores_ == 0; }));
}

StoredMessage MemoryStore::Put(const NewMessage& message) {
  StoredMessage row;
  {
    const std::lock_guard lock(mutex_);
    const Timestamp now = Now();
    row.message = {.id = message.id.value_or(Uuid::NewV7()),
                   .seq = ++last_seq_,
                   .table = "memory",
                   .name_space = message.name_space,
                   .topic = message.topic,
                   .event_type = message.event_type,
                   .event_version = message.event_version,
                   .aggregate_type = message.aggregate_type,
                   .aggregate_id = message.aggregate_id,
                   .key = message.key,
                   .tenant_id = message.tenant_id,
                   .dedupe_key = message.dedupe_key,
                   .payload = message.payload,
                   .headers = HeadersOf(message),
                   .created_at = now,
                   .available_at = message.available_at.value_or(now + message.delay)};
    row.updated_at = now;
    rows_.emplace(row.message.seq, row);
  }
  const std::lock_guard lock(watch_mutex_);
  for (const auto& [watch, on_work] : watches_) on_work();
  return row;
}

std::unique_ptr<RelayStore> MemoryStore::OpenRelay(const RelayStoreOptions& options) {
  return std::make_unique<MemoryRelayStore>(*this, options);
}

std::unique_ptr<InspectStore> MemoryStore::OpenInspect() {
  return std::make_unique<MemoryInspectStore>(*this);
}

std::vector<StoredMessage> MemoryStore::Rows() const {
  const std::lock_guard lock(mutex_);
  std::vector<StoredMessage> rows;
  for (const auto& [seq, row] : rows_) rows.push_back(row);
  return rows;
}

std::optional<StoredMessage> MemoryStore::Find(const Uuid& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const auto& row) { return row.second.message.id == id; });
  if (found == rows_.end()) return std::nullopt;
  return found->second;
}

void MemoryStore::FailNext(Call call, Status error) {
  const std::lock_guard lock(mutex_);
  failures_[call] = std::move(error);
}

void MemoryStore::LoseNextSettleAnswer(Status error) {
  const std::lock_guard lock(mutex_);
  lost_answer_ = std::move(error);
}

Status MemoryStore::TakeFailure(Call call) {
  const auto found = failures_.find(call);
  if (found == failures_.end()) return Status::Ok();
  Status failure = std::move(found->second);
  failures_.erase(found);
  return failure;
}

StoredMessage* MemoryStore::FindOwned(std::int64_t seq, const std::string& token) {
  const auto found = rows_.find(seq);
  return found != rows_.end() && found->second.locked_by == token ? &found->second : nullptr;
}

void MemoryStore::Erase(std::int64_t seq) {
  rows_.erase(seq);
  attempts_.erase(seq);
}

}  // namespace outbox::store
