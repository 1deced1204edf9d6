// LeaseStore: claims that are leases, committed at once and settled later by their token.
#pragma once

#include <memory>

#include "store/sqlite/delivery_scan.h"
#include "store/sqlite/lease_claim.h"
#include "store/sqlite/relay_store_base.h"

namespace outbox::store::sqlite {

class LeaseStore final : public RelayStoreBase {
 public:
  LeaseStore(const std::string& path, const RelayStoreOptions& options,
             std::shared_ptr<const LeaseTable> table);

  RelayStoreTraits traits() const noexcept override { return {.watch_is_free = true}; }
  Result<std::unique_ptr<Claim>> Next(const ClaimRequest& request, Deadline deadline) override;

 private:
  Result<Taken> Take(Connection& connection, const std::string& token, const ClaimRequest& request,
                     Deadline deadline);

  ConnectionSlot claim_;
  DeliveryScan scan_;
  // Shared with the claims, which may outlive the store.
  std::shared_ptr<SettleSlot> settle_;
};

}  // namespace outbox::store::sqlite
