// LeaseClaim: messages whose rows carry this claim's token until they are settled or it expires.
//
// Settling and extending run on the store's settle connection, shared by all of its claims, each in
// one statement of its own. Every statement compares the token, so that what was taken over by
// somebody else is left alone and reported lost.
//
// The rows are messages, or deliveries of messages to one destination: both have the columns these
// statements touch. A message that goes to one destination alone is claimed in its own row. Where a
// history of attempts is kept, the statements are those named noted: they add what they settled to
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "message/table_name.h"
#include "store/postgres/claimed_messages.h"
#include "store/postgres/connection.h"
#include "store/postgres/settlement.h"
#include "store/postgres/statement.h"
#include "store/relay_store.h"
#include "store/settled_keys.h"

namespace outbox::store::postgres {

// Messages whose deliveries are decided, or one of them is.
struct DecidedMessages {
  void Add(const Message& message);

  std::vector<Uuid> ids;
  std::vector<std::int64_t> seqs;
};

// Which rows are claimed.
enum class LeasedRows : std::uint8_t { kMessages, kDeliveries };

// The connection on which lease claims are settled, with its statements. Lock `mutex` to use
// `connection`; its session() may be read without.
struct SettleLane {
  // The rows that a relay with these options claims.
  SettleLane(std::shared_ptr<const Address> address, const message::TableName& table,
             const RelayStoreOptions& options);
  SettleLane(std::shared_ptr<const Address> address, const message::TableName& table,
             const RelayStoreOptions& options, LeasedRows rows);

  std::mutex mutex;
  Connection connection;

  const bool keep_delivered;
  // The commit does not wait for the disk.
  const bool async_ack;
  const AttemptHistory history;
  const std::string destination;
  const std::string worker;
  const Statement settle;
  const Statement settle_delivered;
  const Statement extend;

  // Deliveries only: what completes their messages, and its parameters.
  const std::optional<Statement> complete;
  const std::optional<Statement> forget;  // their attempts, where neither is kept
  const bool any_completes;
  const bool keep_messages;
  const int last_error_bytes_max;
  SettledKeys keys;

  // Completes the messages of deliveries whose outcome was committed. A failure is made up for by
  // the splitter, which looks for messages left behind.
  void Complete(Connection& on, const DecidedMessages& messages, Deadline deadline) const;
};

class LeaseClaim final : public Claim {
 public:
  // `claimed_at` is the database's time, and of interest only where a history is kept.
  LeaseClaim(std::shared_ptr<SettleLane> lane, std::string token, Timestamp claimed_at,
             std::unique_ptr<const ClaimedMessages> messages, std::vector<ClaimedRow> rows,
             bool any_in_doubt, std::vector<Message> exhausted);

  std::size_t size() const override { return rows_.size(); }
  bool any_in_doubt() const override { return any_in_doubt_; }
  std::span<const Message> messages() const override { return messages_->get(); }
  std::span<const Message> exhausted() const override { return exhausted_; }
  Result<SettleReport> Settle(std::span<const Outcome> outcomes, Deadline deadline) override;
  Result<std::vector<std::uint32_t>> Extend(std::chrono::milliseconds lease,
                                            Deadline deadline) override;

 private:
  Result<Rows> Write(const Statement& statement, const Params& params, Deadline deadline);
  Result<Rows> WriteDelivered(std::span<const Outcome> outcomes, Deadline deadline);
  Result<Rows> WriteAny(std::span<const Outcome> outcomes, Deadline deadline);
  void CompleteMessages(std::span<const Outcome> outcomes, Deadline deadline);
  std::uint32_t IndexOf(std::int64_t seq);

  const std::shared_ptr<SettleLane> lane_;
  const std::string token_;
  const Timestamp claimed_at_;
  const std::unique_ptr<const ClaimedMessages> messages_;
  std::vector<ClaimedRow> rows_;
  const bool any_in_doubt_;
  const std::vector<Message> exhausted_;
  std::vector<std::pair<std::int64_t, std::uint32_t>> by_seq_;  // sorted, when first used
};

}  // namespace outbox::store::postgres
