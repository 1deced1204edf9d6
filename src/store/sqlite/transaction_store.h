// TransactionStore: claims that keep one write transaction open from claim to settle.
//
// The rows are leased inside the transaction, invisibly to others, and nothing of it is on disk
// before the last outcome: a crash leaves no trace of the claim, not even an attempt.
#pragma once

#include <atomic>
#include <memory>

#include "store/sqlite/relay_store_base.h"

namespace outbox::store::sqlite {

// The one connection of a TransactionStore's claims. It belongs to the open claim, if there is one,
// and to the store otherwise; `taken` hands it over from one thread to the other.
struct ClaimDesk {
  explicit ClaimDesk(ConnectionSlot slot) : connection(std::move(slot)) {}

  ConnectionSlot connection;
  std::atomic<bool> taken{false};
};

class TransactionStore final : public RelayStoreBase {
 public:
  TransactionStore(const std::string& path, const RelayStoreOptions& options,
                   std::shared_ptr<const LeaseTable> table);

  RelayStoreTraits traits() const noexcept override {
    return {.claims_max = 1, .leases = false, .expires = false, .watch_is_free = true};
  }
  // While a claim is open this returns an empty one.
  Result<std::unique_ptr<Claim>> Next(const ClaimRequest& request, Deadline deadline) override;

 private:
  // Those that it turned dead, and committed, are added to `exhausted`.
  Result<Taken> Take(Connection& connection, const std::string& token, const ClaimRequest& request,
                     std::span<const std::int64_t> aside, std::vector<Message>& exhausted);

  std::shared_ptr<ClaimDesk> desk_;
};

}  // namespace outbox::store::sqlite
