// ClaimedMessages: what a claiming statement returned, oldest first, made into messages when
// somebody reads them. The thread that claims has its next claim to ask for; the one that publishes
// reads.
//
// Threads: get() from any; the first call makes the messages. The rest before the claim is shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "outbox/message.h"
#include "store/postgres/rows.h"
#include "store/postgres/settlement.h"
#include "store/scan_floor.h"

namespace outbox::store::postgres {

// After a message's own columns, in all claiming statements.
struct ClaimColumns {
  enum : int {
    kTid = MessageColumns::kCount,
    kExhausted,
    kInDoubt,
    kClaimedAt,  // in those of deliveries, and those that keep a history of attempts
    // Deliveries only: whether there is an order, and how far it looked.
    kOrdered,
    kLookedAt,
    kLookedSeq,
  };
};

class ClaimedMessages {
 public:
  // `table` and `destination` are for the messages; `attempts_more` are those that the rows do not
  // count yet.
  ClaimedMessages(Rows rows, std::string table, std::string destination, int attempts_more)
      : rows_(std::move(rows)),
        table_(std::move(table)),
        destination_(std::move(destination)),
        attempts_more_(attempts_more) {}

  const Rows& rows() const noexcept { return rows_; }
  void Add(int row) { order_.push_back(row); }
  // As the row has it.
  Message Read(int row) const;

  std::size_t size() const noexcept { return order_.size(); }
  const std::vector<Message>& get() const;

 private:
  const Rows rows_;
  const std::string table_;
  const std::string destination_;
  const int attempts_more_;
  std::vector<int> order_;
  mutable std::once_flag made_;
  mutable std::vector<Message> messages_;
};

// What a claiming statement returned, oldest message first.
struct Found {
  std::unique_ptr<ClaimedMessages> messages;
  std::vector<ClaimedRow> rows;
  ScanPosition last{};  // of these
  bool any_in_doubt = false;
  std::vector<Message> exhausted;
  std::vector<Tid> exhausted_tids;
  std::vector<std::string> exhausted_keys;  // of ordered deliveries
  Timestamp claimed_at{};                   // where a history of attempts is kept
  // Where a scan of deliveries ended, unless that was the end of what is due.
  std::optional<ScanPosition> looked;
};

// As the constructor of ClaimedMessages.
Found ReadClaimed(Rows rows, const std::string& table, const std::string& destination,
                  int attempts_more);

}  // namespace outbox::store::postgres
