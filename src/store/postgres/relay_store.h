// PostgresRelayStore: claims from one outbox table, by lease or by transaction; or deliveries to
// one destination, by lease.
//
// Three connections, made when first used: one claims (Next, TryLead, Drained), one settles, one
// listens. Transaction claims bring a connection each, from a pool of eight.
//
// Threads: as RelayStore says. Claims must not outlive the store.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "message/table_name.h"
#include "store/postgres/connection.h"
#include "store/postgres/leader.h"
#include "store/postgres/lease_claim.h"
#include "store/postgres/transaction_claim.h"
#include "store/relay_store.h"
#include "store/scan_floor.h"

namespace outbox::store::postgres {

class PostgresRelayStore final : public RelayStore {
 public:
  PostgresRelayStore(std::shared_ptr<const Address> address, message::TableName table,
                     const RelayStoreOptions& options);

  // Connects and checks that the table is there, ours, and open to this role.
  Status Check(Deadline deadline);

  RelayStoreTraits traits() const noexcept override;
  Result<std::unique_ptr<Claim>> Next(const ClaimRequest& request, Deadline deadline) override;
  std::vector<RefusedRow> TakeRefused() override { return refused_.Take(); }
  Result<Leadership> TryLead(Deadline deadline) override { return leader_.TryLead(deadline); }
  void StopLeading() noexcept override { leader_.Stop(); }
  Result<bool> Drained(Deadline deadline) override;
  Result<std::unique_ptr<Watch>> WatchForWork(std::function<void()> on_work,
                                              Deadline deadline) override;

 private:
  void AddFilter(Params& params) const;
  void AddAside(Params& params) const;
  void Advance(const Found& found, std::size_t limit);
  // The first parameters of the statements that lease.
  Params LeaseParams(const ClaimRequest& request, const std::string& token);
  Result<Found> ClaimMessages(const ClaimRequest& request, const std::string& token,
                              Deadline deadline);
  // Without those that refuse to be leased.
  Result<Rows> LeaseWilling(const ClaimRequest& request, const std::string& token,
                            Deadline deadline);
  Result<Rows> Lease(const ClaimRequest& request, const std::string& token, Deadline deadline);
  // Sets the first row aside that is due. kNotFound when there is none.
  Status SetFirstAside(const ClaimRequest& request, const Status& why, Deadline deadline);
  // Goes on for a while when it meets only deliveries that wait for others of their key.
  Result<Found> LookForDeliveries(const ClaimRequest& request, const std::string& token,
                                  Deadline deadline);
  Result<Found> ClaimDeliveries(const ClaimRequest& request, const std::string& token,
                                Deadline deadline);
  Result<std::unique_ptr<Claim>> NextLease(const ClaimRequest& request, Deadline deadline);
  Result<std::unique_ptr<Claim>> NextTransaction(const ClaimRequest& request, Deadline deadline);
  Result<std::unique_ptr<Claim>> LockRows(std::unique_ptr<Connection>& connection,
                                          const ClaimRequest& request, Deadline deadline);
  Status EndTransaction(Connection& connection, const Found& found, Deadline deadline);
  std::string NewToken();

  const std::shared_ptr<const Address> address_;
  const message::TableName table_;
  const std::string table_display_;
  const std::string relay_id_;
  const ClaimMode claim_mode_;
  const RelayFilter filter_;
  const std::string destination_;
  const std::vector<std::string> topic_regexes_;
  const Statement claim_lease_;
  const Statement claim_transaction_;
  const Statement first_due_;
  const Statement bury_;
  const Statement drained_;

  Connection claims_;
  const std::shared_ptr<SettleLane> settles_;
  const std::shared_ptr<TransactionLanes> lanes_;
  ScanFloor floor_;
  RefusedRows refused_;
  std::size_t page_ = 0;
  bool keys_turn_ = false;
  // Tells this process's claims from those of an earlier one with the same relay_id.
  const std::string incarnation_;
  Leader leader_;
  std::uint64_t claims_made_ = 0;
};

}  // namespace outbox::store::postgres
