// InspectStore: what operators and tenants ask of a table. Used by the CLI and the HTTP API, never
// by the relay.
//
// Every call carries a Scope: in that of a tenant, other rows do not exist. Every query is served
// by an index and bounded by a limit, so that it stays fast with ten million delivered rows; exact
// counts of more than that have to be asked for.
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
#include "store/attempt.h"
#include "store/list_filter.h"
#include "store/scope.h"

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

// Nothing for what is never due by itself: a dead message, and one that was split, whose deliveries
// have the times that matter.
std::optional<Timestamp> AvailableAt(const StoredMessage& stored) noexcept;
// Of a message that was split, the most that one of its deliveries took.
int AttemptsOf(const StoredMessage& stored) noexcept;

struct ListPage {
  // pending and processing: next due first; dead: oldest first; delivered: newest first; in a
  // tenant's scope or by aggregate: newest first.
  std::vector<StoredMessage> rows;  // payload and headers only where the filter says whole
  // Empty on the last page. Where rows have to be looked at one by one (by topic, key, error, time
  // or some states) a call looks at a bounded number of them: the page may then be short, even
  // empty, and still have a next.
  std::string next;
};

// A page of a tenant's messages, newest first, and how many there are.
struct NumberedPage {
  std::vector<StoredMessage> rows;
  std::string next;  // as in ListPage: going on by it is fast at any depth
  std::int64_t total = 0;
  bool total_capped = false;  // counting stopped: there are at least `total`
};

struct TableStats {
  // Each count is exact up to a limit, some ten thousand rows, and an estimate above it, whose flag
  // is then set. An estimate comes from a sample of the rows as they stand: with millions of rows
  // it is off by a few per cent, more for what is rare. The counts of a tenant are never estimated;
  // above their limit they are lower bounds, see `capped`.
  std::int64_t pending = 0;     // due or not
  std::int64_t due = 0;         // of those, available now; and deliveries that are, see below
  std::int64_t retrying = 0;    // of pending, with attempts behind them
  std::int64_t processing = 0;  // leased
  std::int64_t stale = 0;       // of those, with an expired lease
  std::int64_t dead = 0;
  std::int64_t delivered = 0;
  bool live_estimated = false;  // pending, due, retrying, processing and stale are
  bool dead_estimated = false;
  bool delivered_estimated = false;
  bool capped = false;  // of a tenant: counting stopped somewhere, there is at least so much
  // Of the oldest that could be claimed now: it is due, and nobody holds a lease of it.
  std::optional<std::chrono::milliseconds> oldest_age;
  // A message that was split is `processing` until all its deliveries are decided. In the counts of
  // a whole table `due` and `oldest_age` are also about these, up to 1,000 for each destination, so
  // that one destination that stands still shows.
};

// The same in the words of the tenants' API: failed waits for a retry, pending was never tried.
struct TenantStats {
  std::int64_t pending = 0;
  std::int64_t processing = 0;
  std::int64_t completed = 0;
  std::int64_t failed = 0;
  std::int64_t dead = 0;
  std::int64_t total = 0;
  bool capped = false;  // counting stopped somewhere: these are lower bounds
};
TenantStats ToTenantStats(const TableStats& stats) noexcept;

// What became of the repair of one message.
struct RepairResult {
  enum class Outcome : std::uint8_t {
    kDone,
    kNotFound,  // no such message in this scope
    kRefused,   // its state does not allow it, or somebody is working on it just now
  };
  Outcome outcome = Outcome::kNotFound;
  std::optional<MessageStatus> status;  // as it was found
  // Of one that is being delivered: it can be repaired when its lease has expired.
  std::optional<Timestamp> locked_until;
};

class InspectStore {
 public:
  virtual ~InspectStore() = default;

  virtual Result<ListPage> List(const Scope& scope, const ListFilter& filter,
                                Deadline deadline) = 0;
  // Page `number` (from 1) of filter.limit rows, for a tenant's scope; filter.after is not looked
  // at. Takes time in proportion to the page's number, over an index; at most kNumberedRowsMax
  // deep.
  virtual Result<NumberedPage> ListNumbered(const Scope& scope, const ListFilter& filter,
                                            std::size_t number, Deadline deadline) = 0;
  virtual Result<std::optional<StoredMessage>> Get(const Scope& scope, const Uuid& id,
                                                   Deadline deadline) = 0;
  // The newest kAttemptsShownMax attempts at a message that were noted, oldest first. None for a
  // message that is not there, or not in this scope.
  virtual Result<std::vector<Attempt>> Attempts(const Scope& scope, const Uuid& id,
                                                Deadline deadline) = 0;
  virtual Result<TableStats> Stats(const Scope& scope, bool exact, Deadline deadline) = 0;

  // Retry: failed or dead → pending, attempts 0, available now; last_error stays until the next
  // outcome. Of a message that was split, only destinations that did not succeed are tried again;
  // also of one that is still under way, or delivered, though a delivery is dead: by its id, and
  // with the dead that a filter takes.
  // Delete: pending or dead rows; DeleteOne also a delivered one, unless deliveries of it to other
  // sinks are open. Its dedupe key may then be used again. A message stays while a lease on one of
  // its deliveries runs.
  // A row whose lease expired counts as failed, by its id: its relay is gone, or it can not settle
  // it any more. Rows in other states, and rows that somebody holds, are left alone. With an audit
  // (else null) a change is recorded in its own transaction.
  virtual Result<RepairResult> RetryOne(const Scope& scope, const Uuid& id, const Audit* audit,
                                        Deadline deadline) = 0;
  virtual Result<RepairResult> DeleteOne(const Scope& scope, const Uuid& id, const Audit* audit,
                                         Deadline deadline) = 0;
  // The same for many. With dry_run nothing changes and nothing is recorded. Returns how many rows
  // were, or would be, changed; at most `limit` in one call, so that callers loop with progress.
  virtual Result<std::size_t> Retry(const Scope& scope, const RepairTarget& target, bool dry_run,
                                    std::size_t limit, Deadline deadline) = 0;
  virtual Result<std::size_t> Delete(const Scope& scope, const RepairTarget& target, bool dry_run,
                                     std::size_t limit, Deadline deadline) = 0;
};

}  // namespace outbox::store
