// TransactionClaim: messages whose rows are locked in an open transaction, on a connection of the
// claim's own. A crash, or a lost connection, frees them at once. A process that stands still is
// cut off by the server: the transaction may be idle for the lease and ten seconds more.
//
// Settle collects outcomes; the last one writes them all and commits. Until then a failure voids
// the whole claim.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "message/table_name.h"
#include "store/postgres/claimed_messages.h"
#include "store/postgres/connection.h"
#include "store/postgres/settlement.h"
#include "store/postgres/statement.h"
#include "store/relay_store.h"

namespace outbox::store::postgres {

// Connections for transaction claims; each is with one claim at a time.
//
// Threads: any.
class TransactionLanes {
 public:
  static constexpr std::size_t kLanesMax = 8;

  TransactionLanes(std::shared_ptr<const Address> address, const message::TableName& table,
                   const RelayStoreOptions& options);

  // A connection that is free; nullptr when all are taken.
  std::unique_ptr<Connection> Take();
  void Return(std::unique_ptr<Connection> connection);

  const bool keep_delivered;
  const bool async_ack;
  const AttemptHistory history;
  const std::string worker;
  const Statement settle;
  const Statement note_cut_off;

 private:
  const std::shared_ptr<const Address> address_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> free_;
  std::size_t taken_ = 0;
};

class TransactionClaim final : public Claim {
 public:
  // `connection` is from `lanes`, with the rows locked in its open transaction.
  TransactionClaim(std::shared_ptr<TransactionLanes> lanes, std::unique_ptr<Connection> connection,
                   std::unique_ptr<const ClaimedMessages> messages, std::vector<ClaimedRow> rows,
                   bool any_in_doubt, std::vector<Message> exhausted);
  ~TransactionClaim() override;

  std::size_t size() const override { return rows_.size(); }
  bool any_in_doubt() const override { return any_in_doubt_; }
  std::span<const Message> messages() const override { return messages_->get(); }
  std::span<const Message> exhausted() const override { return exhausted_; }
  // Settle and Extend report every message lost when the transaction is gone.
  Result<SettleReport> Settle(std::span<const Outcome> outcomes, Deadline deadline) override;
  // Tells the server that somebody is here.
  Result<std::vector<std::uint32_t>> Extend(std::chrono::milliseconds lease,
                                            Deadline deadline) override;

 private:
  std::vector<std::uint32_t> AllLost() const;
  Result<SettleReport> Commit(Deadline deadline);
  Result<Rows> Write(Deadline deadline);
  SettleReport Missing(const Rows& touched) const;

  const std::shared_ptr<TransactionLanes> lanes_;
  std::unique_ptr<Connection> connection_;
  const Connection::SessionId session_;
  const std::unique_ptr<const ClaimedMessages> messages_;
  std::vector<ClaimedRow> rows_;
  const bool any_in_doubt_;
  const std::vector<Message> exhausted_;
  std::vector<Outcome> outcomes_;
  bool open_;  // the transaction is ours to commit
};

}  // namespace outbox::store::postgres
