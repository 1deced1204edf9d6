// RelayStoreBase: what both relay stores share: leadership, drain, wake-up and claim tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "store/relay_store.h"
#include "store/sqlite/connection_slot.h"
#include "store/sqlite/leader_lock.h"
#include "store/sqlite/lease_table.h"

namespace outbox::store::sqlite {

class RelayStoreBase : public RelayStore {
 public:
  RelayStoreBase(std::string path, const RelayStoreOptions& options,
                 std::shared_ptr<const LeaseTable> table);

  std::vector<RefusedRow> TakeRefused() override { return refused_.Take(); }
  Result<Leadership> TryLead(Deadline) override { return leader_.TryAcquire(lease_); }
  void StopLeading() noexcept override { leader_.Release(); }
  Result<bool> Drained(Deadline deadline) override;
  Result<std::unique_ptr<Watch>> WatchForWork(std::function<void()> on_work,
                                              Deadline deadline) override;

 protected:
  // False when a look without the write lock shows that a claim would be empty. Looks only while
  // idle: a busy relay claims straight away.
  Result<bool> WorthClaiming(Deadline deadline);
  void NoteClaimed(bool found) noexcept { idle_ = !found; }

  // Takes rows, in a transaction of its own, but for the messages with the numbers `aside`.
  using TakeSome = std::function<Result<Taken>(const ClaimRequest& request,
                                               std::span<const std::int64_t> aside)>;
  // Without the messages that refuse to be leased.
  Result<Taken> TakeWilling(Connection& connection, const ClaimRequest& request, Deadline deadline,
                            const TakeSome& take);

  // Unique among all claims of all relays, also after a restart under the same relay_id.
  std::string NextToken();

  enum class Commits : std::uint8_t {
    kDurable,
    kRelaxed,  // what they write may be taken away by a power loss
  };
  // Opens connections on which the table's statements run.
  ConnectionSlot::Prepare PrepareConnection(Commits commits) const;

  const std::string& path() const noexcept { return path_; }
  const std::shared_ptr<const LeaseTable>& table() const noexcept { return table_; }

 private:
  std::string path_;
  std::string token_prefix_;
  std::uint64_t tokens_ = 0;
  bool idle_ = false;
  RefusedRows refused_;
  std::shared_ptr<const LeaseTable> table_;
  ConnectionSlot look_;
  const std::chrono::milliseconds lease_;
  LeaderLock leader_;
};

}  // namespace outbox::store::sqlite
