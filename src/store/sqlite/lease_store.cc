#include "store/sqlite/lease_store.h"

#include <utility>
#include <vector>

namespace outbox::store::sqlite {
LeaseStore::LeaseStore(const std::string& path, const RelayStoreOptions& options,
                       std::shared_ptr<const LeaseTable> table)
    : RelayStoreBase(path, options.relay_id, std::move(table)),
      // A lease that a power loss takes away leaves its messages pending, to be delivered again.
      claim_(path, PrepareConnection(Commits::kRelaxed)),
      settle_(std::make_shared<SettleSlot>(path, options.async_ack)) {}

Result<std::unique_ptr<Claim>> LeaseStore::Next(const ClaimRequest& request, Deadline deadline) {
  std::string token = NextToken();
  Taken taken;
  OUTBOX_ASSIGN_OR_RETURN(const bool worth, WorthClaiming(deadline));
  if (worth) {
    const auto take = [&](Connection& connection) -> Result<Taken> {
      OUTBOX_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(connection));
      OUTBOX_ASSIGN_OR_RETURN(Taken found, table()->Take(connection, token, request));
      OUTBOX_RETURN_IF_ERROR(transaction.Commit());
      return found;
    };
    OUTBOX_ASSIGN_OR_RETURN(taken, claim_.Use(deadline, take));
    NoteClaimed(!taken.messages.empty() || !taken.exhausted.empty());
  }
  return MakeLeaseClaim(table(), settle_, std::move(token), std::move(taken));
}

}  // namespace outbox::store::sqlite
