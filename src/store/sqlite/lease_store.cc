#include "store/sqlite/lease_store.h"

#include <utility>
#include <vector>

namespace outbox::store::sqlite {
LeaseStore::LeaseStore(const std::string& path, const RelayStoreOptions& options,
                       std::shared_ptr<const LeaseTable> table)
    : RelayStoreBase(path, options, std::move(table)),
      // A lease that a power loss takes away leaves its messages pending, to be delivered again.
      claim_(path, PrepareConnection(Commits::kRelaxed)),
      settle_(std::make_shared<SettleSlot>(path, options.async_ack)) {}

Result<std::unique_ptr<Claim>> LeaseStore::Next(const ClaimRequest& request, Deadline deadline) {
  std::string token = NextToken();
  Taken taken;
  OUTBOX_ASSIGN_OR_RETURN(const bool worth, WorthClaiming(deadline));
  if (worth) {
    auto found = claim_.Use(deadline, [&](Connection& connection) {
      return Take(connection, token, request, deadline);
    });
    if (!found.ok()) scan_.Reset();
    OUTBOX_ASSIGN_OR_RETURN(taken, std::move(found));
    NoteClaimed(!taken.messages.empty() || !taken.exhausted.empty());
    for (const Message& message : taken.exhausted) {
      if (taken.ordered.contains(message.seq)) settle_->keys.Add(message.key);
    }
  }
  return MakeLeaseClaim(table(), settle_, std::move(token), std::move(taken));
}

Result<Taken> LeaseStore::Take(Connection& connection, const std::string& token,
                               const ClaimRequest& request, Deadline deadline) {
  const auto commit = [&](auto take) -> Result<Taken> {
    OUTBOX_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(connection));
    OUTBOX_ASSIGN_OR_RETURN(Taken taken, take());
    OUTBOX_RETURN_IF_ERROR(transaction.Commit());
    return taken;
  };
  if (table()->rows() == LeasedRows::kMessages) {
    return TakeWilling(
        connection, request, deadline,
        [&](const ClaimRequest& part, std::span<const std::int64_t> aside) {
          return commit([&] { return table()->Take(connection, token, part, aside); });
        });
  }
  OUTBOX_ASSIGN_OR_RETURN(const auto seqs,
                          scan_.Next(connection, *table(), request, settle_->keys, deadline));
  if (seqs.empty()) return Taken{};
  return commit([&] { return table()->TakeThese(connection, token, request, seqs); });
}

}  // namespace outbox::store::sqlite
