// ControlStore: what processes and operators tell each other through the database: which relays
// run, which are paused, and what operators changed.
//
// Times, ages and who is gone are the database's. Every call fails with kSchema where the tables
// for it are missing (an installation older than this program); the hint is the command that helps.
//
// Threads: an instance is used by one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/deadline.h"
#include "outbox/message.h"
#include "outbox/status.h"
#include "store/audit.h"

namespace outbox::store {

// Rows that one heartbeat removes, at most, of those that nobody has beaten for a day.
inline constexpr std::size_t kOldRelaysRemovedMax = 100;
// Relays and pauses that a list shows, at most.
inline constexpr std::size_t kControlRowsMax = 1000;

struct ProcessInfo {
  std::string id;  // "host:pid:random": no two processes share it
  std::string host;
  int pid = 0;
  std::string version;
};

// One relay as it stands.
struct RelayBeat {
  std::string table;  // its display name
  std::string sink;   // empty: the table's only one
  std::string state;
  std::optional<bool> leading;  // single-active mode only
  std::uint64_t in_flight = 0;
  std::uint64_t delivered = 0;  // since the start
  std::uint64_t failed = 0;     // deliveries that failed, since the start
};

struct ListedRelay {
  ProcessInfo process;
  RelayBeat relay;
  Timestamp started_at{};
  Timestamp beat_at{};
  std::chrono::milliseconds beat_age{0};
  bool gone = false;  // no heartbeat for three of its intervals
};

struct RelayPause {
  std::string table;
  std::string sink;  // empty: all of the table's
  Timestamp since{};
  std::string by;
  std::string reason;

  bool Covers(std::string_view table_name, std::string_view sink_name) const {
    return table == table_name && (sink.empty() || sink == sink_name);
  }
};

// The pause that this relay is under, or null.
const RelayPause* FindPause(std::span<const RelayPause> pauses, std::string_view table,
                            std::string_view sink);

struct AuditRecord {
  std::int64_t number = 0;
  Timestamp at{};
  std::string action;  // "retry", "delete", "pause" or "resume"
  std::string table;
  std::size_t changed = 0;
  Audit audit;
};

struct AuditPage {
  std::vector<AuditRecord> records;  // newest first
  std::string next;                  // empty on the last page
};

struct AuditFilter {
  std::string table;  // empty: of all
  std::size_t limit = 50;
  std::string after;  // AuditPage::next of the page before
};

class ControlStore {
 public:
  virtual ~ControlStore() = default;

  // A heartbeat for all relays of a process; `interval` is when the next one comes. Returns the
  // pauses of their tables.
  virtual Result<std::vector<RelayPause>> Beat(const ProcessInfo& process,
                                               std::span<const RelayBeat> relays,
                                               std::chrono::milliseconds interval,
                                               Deadline deadline) = 0;
  // The process ends: its relays are no longer listed.
  virtual Status Leave(const ProcessInfo& process, Deadline deadline) = 0;

  // Of all processes, those that live first.
  virtual Result<std::vector<ListedRelay>> Relays(Deadline deadline) = 0;
  virtual Result<std::vector<RelayPause>> Pauses(Deadline deadline) = 0;

  // Both return how many pauses changed: none when it was so already. They are recorded in the
  // audit.
  virtual Result<std::size_t> Pause(const RelayPause& pause, const Audit& audit,
                                    Deadline deadline) = 0;
  // Without a sink all pauses of the table end. kConflict for one sink of a table that is paused as
  // a whole.
  virtual Result<std::size_t> Resume(const std::string& table, const std::string& sink,
                                     const Audit& audit, Deadline deadline) = 0;

  virtual Result<AuditPage> ListAudit(const AuditFilter& filter, Deadline deadline) = 0;
};

// For implementations.
Status ControlTablesMissing();
Status WholeTableIsPaused(const std::string& table);
// The number that AuditFilter::after stands for; kInvalidArgument when it is none.
Result<std::optional<std::int64_t>> ReadAuditPlace(const AuditFilter& filter);
// Cuts a page that was read with one record more than its limit.
AuditPage MakeAuditPage(std::vector<AuditRecord> records, std::size_t limit);

}  // namespace outbox::store
