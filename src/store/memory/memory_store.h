// MemoryStore: an outbox table in memory, with the semantics of the real ones, for tests of the
// relay: its clock is injected, calls can be made to fail, and its rows can be looked at.
//
// It passes the same conformance suite as the databases.
//
// Threads: any. The stores, claims and watches that it opened must not outlive it. Its destructor
// waits for relay stores: a call that a relay gave up lets go of its relay a moment after it has
// returned.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "outbox/message.h"
#include "outbox/status.h"
#include "outbox/uuid.h"
#include "store/inspect_store.h"
#include "store/memory/memory_control.h"
#include "store/relay_store.h"

namespace outbox::store {

class MemoryStore {
 public:
  using Clock = std::function<Timestamp()>;

  // The calls of RelayStore and Claim that can be made to fail.
  enum class Call : std::uint8_t { kNext, kSettle, kExtend, kTryLead, kDrained };

  // Without a clock it is the system's.
  explicit MemoryStore(Clock clock = nullptr);
  ~MemoryStore();
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  // Adds a message without further checks and wakes the watches. Returns it as stored.
  StoredMessage Put(const NewMessage& message);

  std::unique_ptr<RelayStore> OpenRelay(const RelayStoreOptions& options);
  std::unique_ptr<InspectStore> OpenInspect();
  MemoryControl& control() noexcept { return control_; }

  // Rows in the order they were put; delivered ones only while they are kept.
  std::vector<StoredMessage> Rows() const;
  std::optional<StoredMessage> Find(const Uuid& id) const;

  // The next such call fails with `error` and does nothing.
  void FailNext(Call call, Status error);
  // The next Settle is recorded, but its answer is lost: the caller gets `error`.
  void LoseNextSettleAnswer(Status error);

 private:
  friend class MemoryRelayStore;
  friend class MemoryClaim;
  friend class MemoryInspectStore;
  friend class MemoryWatch;

  // The failure injected for this call, or OK. With mutex_ held.
  Status TakeFailure(Call call);
  // With mutex_ held.
  StoredMessage* FindOwned(std::int64_t seq, const std::string& token);
  // Removes a message and its attempts. With mutex_ held.
  void Erase(std::int64_t seq);
  Timestamp Now() const { return clock_(); }

  Clock clock_;
  MemoryControl control_;
  mutable std::mutex mutex_;
  std::map<std::int64_t, StoredMessage> rows_;             // by seq
  std::map<std::int64_t, std::vector<Attempt>> attempts_;  // by seq of their message
  std::int64_t last_seq_ = 0;
  std::uint64_t last_token_ = 0;
  const void* leader_ = nullptr;
  std::size_t relay_stores_ = 0;  // that are open
  std::condition_variable relay_store_closed_;
  std::map<Call, Status> failures_;
  Status lost_answer_;

  // Held while callbacks run, so that a destroyed watch is called no more.
  std::mutex watch_mutex_;
  std::map<const void*, std::function<void()>> watches_;
};

}  // namespace outbox::store
