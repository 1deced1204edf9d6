// PostgresSplitStore: splitting on PostgreSQL. The lock of a row that only relays may write lets
// one process do it at a time, for as long as its transaction lasts.
//
// Each lane has a connection of its own on which its claims are settled, made when first used.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "message/table_name.h"
#include "store/postgres/connection.h"
#include "store/postgres/lease_claim.h"
#include "store/postgres/statement.h"
#include "store/scan_floor.h"
#include "store/split_store.h"

namespace outbox::store::postgres {

struct SplitPlan;  // which way each candidate goes

class PostgresSplitStore final : public SplitStore {
 public:
  PostgresSplitStore(std::shared_ptr<const Address> address, message::TableName table,
                     const SplitOptions& options);

  // Connects and checks that the table is there, ours, and open to this role.
  Status Check(Deadline deadline);

  Result<SplitReport> Split(const message::Routes& routes, const SplitRequest& request,
                            Deadline deadline) override;
  Result<LeftOverReport> CompleteLeftOver(std::int64_t after_seq, std::size_t limit,
                                          Deadline deadline) override;
  Result<std::vector<std::string>> WaitingDestinations(Deadline deadline) override;
  Result<std::unique_ptr<Watch>> WatchForWork(std::function<void()> on_work,
                                              Deadline deadline) override;
  bool watch_is_free() const noexcept override { return false; }

 private:
  struct Lane {
    RelayStoreOptions options;
    std::shared_ptr<SettleLane> settles;
    std::string token_prefix;
    std::uint64_t claims_made = 0;
  };
  struct Lease {
    const Lane* lane;
    std::string token;
    Params params;
    std::size_t step = 0;  // of the transaction's last round trip
  };

  // False when a look shows that there is nothing to split. Looks only while idle.
  Result<bool> WorthSplitting(Deadline deadline);
  void AddFilter(Params& params) const;
  // Makes sure of the row by whose lock processes take turns. Looks again after an empty round.
  Status MakeTurn(Deadline deadline);
  // The candidates, locked in an open transaction; none when another process is at it.
  Result<Rows> Lock(const SplitRequest& request, Deadline deadline);
  Result<SplitReport> Write(const Rows& candidates, const SplitPlan& plan,
                            const SplitRequest& request, Deadline deadline);
  void Advance(const Rows& candidates, const SplitPlan& plan, std::size_t limit);
  // A lease of messages to `destination`, and the parameters of its statement.
  Lease MakeLease(const LaneRequest& request, const std::vector<Tid>& tids);
  std::unique_ptr<Claim> MakeClaim(Lease lease, Rows rows) const;

  const std::shared_ptr<const Address> address_;
  const message::TableName table_;
  const SplitOptions options_;
  const std::vector<std::string> topic_regexes_;
  const std::string turn_;
  bool turn_made_ = false;
  const Statement due_;
  const Statement candidates_;
  const Statement lease_;
  const Statement note_cut_off_;
  const Statement add_;
  const Statement mark_;
  const Statement unrouted_;
  const Statement complete_;
  const Statement left_over_;
  const Statement waiting_;
  Connection connection_;
  ScanFloor floor_;
  bool idle_ = false;
  ScanFloor due_floor_;  // where an idle one looks whether something is due
  std::vector<Lane> lanes_;
};

}  // namespace outbox::store::postgres
