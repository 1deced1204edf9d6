// LeaseTable: the statements that claim and settle rows of one table, for one relay's filter; or
// deliveries of its messages, for one destination; or messages that go to that destination alone,
// in their own rows.
//
// Settling a delivery completes its message, in the same transaction, when it was the last. Where a
// history of attempts is kept, settling and claiming add to it, in the same transaction too.
//
// Both kinds of claim use it. It runs inside a transaction of the caller's: a lease claim commits
// after each call, a transaction claim only when every message has its outcome.
//
// Threads: immutable after construction; any thread, each with its own connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "message/table_name.h"
#include "outbox/message.h"
#include "outbox/options.h"
#include "outbox/status.h"
#include "store/relay_store.h"
#include "store/scan_floor.h"
#include "store/sqlite/connection.h"

namespace outbox::store::sqlite {

struct Taken {
  std::vector<Message> messages;   // oldest first
  std::vector<Message> exhausted;  // turned dead
  // The seqs of deliveries that others of their key wait for.
  std::unordered_set<std::int64_t> ordered;
};

// How far to look for deliveries.
struct LookRequest {
  std::size_t limit = 1;
  // Rows to be looked at: what waits for an earlier one does not count towards the limit.
  std::size_t page = std::numeric_limits<std::size_t>::max();
  ScanPosition after;
};

struct Looked {
  std::vector<std::int64_t> seqs;    // oldest first, to be taken with TakeThese
  std::optional<ScanPosition> last;  // looked at
  bool to_end = false;               // nothing is due behind it
  bool waiting = false;              // some wait for an earlier one of their key
};

// Which rows are claimed.
enum class LeasedRows : std::uint8_t { kMessages, kDeliveries };

class LeaseTable {
 public:
  // The rows that a relay with these options claims.
  LeaseTable(const message::TableName& table, const RelayStoreOptions& options);
  LeaseTable(const message::TableName& table, const RelayStoreOptions& options, LeasedRows rows);
  LeaseTable(const LeaseTable&) = delete;
  LeaseTable& operator=(const LeaseTable&) = delete;

  // Must be called on each connection before Take, Due and Undrained; the filter's topic patterns
  // become an SQL function there, and a trigger notes attempts that were cut off. The connection
  // must not outlive this object.
  Status Register(Connection& connection) const;

  // But for the messages with the numbers `aside`.
  Result<Taken> Take(Connection& connection, std::string_view token, const ClaimRequest& request,
                     std::span<const std::int64_t> aside = {}) const;
  // The message that a Take of one would take. kMessages only.
  struct FirstDue {
    std::int64_t seq = 0;
    std::string id;
  };
  Result<std::optional<FirstDue>> FindFirstDue(Connection& connection,
                                               std::span<const std::int64_t> aside) const;
  // Deliveries that can be taken. Needs no transaction; kDeliveries only.
  Result<Looked> Look(Connection& connection, const LookRequest& request) const;
  // The delivery that goes first of those with one key: 0 when there is none.
  struct First {
    std::int64_t seq = 0;
    bool due = false;  // and nobody has it
  };
  Result<First> FirstOf(Connection& connection, std::string_view key) const;
  // Takes these messages, which are due, whatever the filter says; or those of these deliveries
  // that are still due.
  Result<Taken> TakeThese(Connection& connection, std::string_view token,
                          const ClaimRequest& request, std::span<const std::int64_t> seqs) const;
  // Rows that are not leased under `token` any more are reported lost.
  Result<SettleReport> Settle(Connection& connection, std::string_view token,
                              std::span<const Message> messages,
                              std::span<const Outcome> outcomes) const;
  // Gives messages back that were never handed on: no attempt, and none is noted.
  Status GiveBack(Connection& connection, std::string_view token,
                  std::span<const Message> messages) const;
  // True when the row was still leased under `token`.
  Result<bool> Extend(Connection& connection, std::string_view token, const Message& message,
                      std::chrono::milliseconds lease) const;

  // Whether Take would find something; whether something is left to be delivered or retried.
  Result<bool> Due(Connection& connection) const;
  Result<bool> Undrained(Connection& connection) const;

  const message::TableName& name() const noexcept { return table_; }
  LeasedRows rows() const noexcept { return rows_; }
  // What is led by one relay at a time: the table, or its deliveries to one destination.
  std::string leader_name() const;

 private:
  Result<std::vector<Message>> TakeMessages(Connection& connection, std::string_view token,
                                            const ClaimRequest& request,
                                            std::span<const std::int64_t> aside) const;
  Result<std::vector<Message>> TakeDeliveries(Connection& connection, std::string_view token,
                                              const ClaimRequest& request,
                                              std::span<const std::int64_t> seqs,
                                              std::unordered_set<std::int64_t>& ordered) const;
  // Buries those whose attempts are used up, and sorts the others.
  Result<Taken> Sort(Connection& connection, std::string_view token, const ClaimRequest& request,
                     std::vector<Message> rows) const;
  Status Complete(Connection& connection, const Message& message) const;
  Result<bool> SettleOne(Connection& connection, std::string_view token, const Message& message,
                         const Outcome& outcome) const;
  Status Note(Connection& connection, std::string_view token, const Message& message,
              const Outcome& outcome) const;
  Status Bury(Connection& connection, std::string_view token,
              std::span<const Message> messages) const;
  Result<bool> Exists(Connection& connection, const std::string& sql) const;

  message::TableName table_;
  RelayFilter filter_;
  std::string tenant_;
  LeasedRows rows_;
  std::string destination_;
  bool any_completes_;
  bool keep_messages_;
  AttemptHistory history_;
  std::string worker_;
  std::int64_t last_error_bytes_max_;

  std::string take_;
  std::string first_due_;
  std::string take_these_;
  std::string look_;
  std::string first_;
  std::string read_taken_;
  std::string bury_;
  std::string delivered_;
  std::string retry_;
  std::string dead_;
  std::string released_;
  std::string postponed_;
  std::string extend_;
  std::string due_;
  std::string undrained_;
  std::string complete_;
  std::string remove_;
  std::string note_;
  std::string note_cut_off_;
};

}  // namespace outbox::store::sqlite
