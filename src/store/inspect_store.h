// InspectStore: what operators ask of a table. Used by the CLI and the HTTP API, never by the
// relay.
//
// Every query is served by an index and bounded by a limit, so that it stays fast with ten million
// delivered rows; what can not be (exact counts of history) is asked for explicitly.
//
// Threads: an instance is used by one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "outbox/deadline.h"
#include "outbox/message.h"
#include "outbox/status.h"

namespace outbox::store {

// Where one of a message's destinations stands.
struct Delivery {
  std::string destination;
  MessageStatus status = MessageStatus::kPending;
  int attempts = 0;
  Timestamp available_at{};
  std::string last_error;
  Timestamp updated_at{};
  std::optional<Timestamp> processed_at;
};

// A row as it stands: the message and its delivery state.
struct StoredMessage {
  Message message;  // message.attempt is the column `attempts`
  MessageStatus status = MessageStatus::kPending;
  std::string locked_by;
  std::optional<Timestamp> locked_until;
  std::string last_error;
  Timestamp updated_at{};
  std::optional<Timestamp> processed_at;
  std::vector<Delivery> deliveries;  // of a message that was split; filled in by Get only
};

struct ListFilter {
  // No status: everything but delivered, that is the backlog and the dead.
  std::optional<MessageStatus> status;
  std::string topic;  // exact; empty is any
  std::optional<Uuid> tenant_id;
  std::string aggregate_type;  // with aggregate_id: the history of one aggregate
  std::string aggregate_id;
  std::string key;
  std::size_t limit = 50;
  std::string after;  // ListPage::next of the page before
};

struct ListPage {
  // pending and processing: next due first; dead: oldest first; delivered: newest first;
  // by aggregate or tenant: newest first.
  std::vector<StoredMessage> rows;  // payload and headers are left empty
  std::string next;                 // empty on the last page
};

struct TableStats {
  // Live and dead rows are counted (up to `counted_max`, see capped); delivered is the database's
  // estimate unless an exact count was asked for.
  std::int64_t pending = 0;     // due or not
  std::int64_t due = 0;         // of those, available now
  std::int64_t retrying = 0;    // of pending, with attempts behind them
  std::int64_t processing = 0;  // leased
  std::int64_t stale = 0;       // of those, with an expired lease
  std::int64_t dead = 0;
  std::int64_t delivered = 0;
  bool delivered_exact = false;
  bool capped = false;                                  // the counts above stopped at the limit
  std::optional<std::chrono::milliseconds> oldest_age;  // of the oldest message that is due
};

// Which rows a repair touches: ids, or all dead ones of a topic.
struct RepairTarget {
  std::vector<Uuid> ids;
  bool all_dead = false;
  std::string topic;  // with all_dead; empty is any
};

class InspectStore {
 public:
  virtual ~InspectStore() = default;

  virtual Result<ListPage> List(const ListFilter& filter, Deadline deadline) = 0;
  virtual Result<std::optional<StoredMessage>> Get(const Uuid& id, Deadline deadline) = 0;
  virtual Result<TableStats> Stats(bool exact, Deadline deadline) = 0;

  // Retry: dead → pending, attempts 0, available now. Rows in other states are left alone.
  // Delete: pending or dead rows; processing and delivered rows are left alone.
  // With dry_run nothing changes. Returns how many rows were, or would be, changed; at most
  // `limit` in one call, so that callers loop with progress.
  virtual Result<std::size_t> Retry(const RepairTarget& target, bool dry_run, std::size_t limit,
                                    Deadline deadline) = 0;
  virtual Result<std::size_t> Delete(const RepairTarget& target, bool dry_run, std::size_t limit,
                                     Deadline deadline) = 0;
};

}  // namespace outbox::store
