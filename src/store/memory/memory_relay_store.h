// The RelayStore of a MemoryStore. Opened by MemoryStore::OpenRelay.
#pragma once

#include <functional>
#include <memory>

#include "store/memory/memory_store.h"
#include "store/relay_store.h"

namespace outbox::store {

class MemoryRelayStore final : public RelayStore {
 public:
  MemoryRelayStore(MemoryStore& store, RelayStoreOptions options);
  ~MemoryRelayStore() override;

  RelayStoreTraits traits() const noexcept override;
  Result<std::unique_ptr<Claim>> Next(const ClaimRequest& request, Deadline deadline) override;
  Result<Leadership> TryLead(Deadline deadline) override;
  void StopLeading() noexcept override;
  Result<bool> Drained(Deadline deadline) override;
  Result<std::unique_ptr<Watch>> WatchForWork(std::function<void()> on_work,
                                              Deadline deadline) override;

 private:
  bool Wanted(const Message& message) const;
  // Of a row whose lease is being taken over. With the store's mutex held.
  void NoteCutOff(const StoredMessage& row);
  // Due rows that nobody holds, oldest first. With the store's mutex held.
  std::vector<StoredMessage*> DueRows(std::size_t limit, Timestamp now);

  MemoryStore& store_;
  RelayStoreOptions options_;
};

}  // namespace outbox::store
