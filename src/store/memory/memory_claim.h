// The Claim of a MemoryRelayStore, in either mode.
#pragma once

#include <string>
#include <vector>

#include "store/memory/memory_store.h"
#include "store/relay_store.h"

namespace outbox::store {

class MemoryClaim final : public Claim {
 public:
  MemoryClaim(MemoryStore& store, const RelayStoreOptions& options, std::string token,
              std::vector<Message> messages, std::vector<Message> exhausted);
  ~MemoryClaim() override;

  std::span<const Message> messages() const override { return messages_; }
  std::span<const Message> exhausted() const override { return exhausted_; }
  Result<SettleReport> Settle(std::span<const Outcome> outcomes, Deadline deadline) override;
  Result<std::vector<std::uint32_t>> Extend(std::chrono::milliseconds lease,
                                            Deadline deadline) override;

 private:
  // With the store's mutex held.
  void Note(const StoredMessage& row, const Outcome& outcome);
  void Apply(StoredMessage& row, const Outcome& outcome);

  MemoryStore& store_;
  bool lease_;
  bool keep_delivered_;
  AttemptHistory history_;
  std::string token_;
  std::vector<Message> messages_;
  std::vector<Message> exhausted_;
  std::vector<bool> settled_;
};

}  // namespace outbox::store
