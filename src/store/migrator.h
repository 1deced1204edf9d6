// Migrator: creates, upgrades and removes outbox tables.
//
// Migrations are numbered and recorded per table; running one twice, or from two processes at
// once, changes nothing the second time.
//
// Threads: an instance is used by one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "outbox/deadline.h"
#include "outbox/enqueue.h"
#include "outbox/status.h"

namespace outbox::store {

struct MigrateOptions {
  std::string table;
  // What the table's own check on `topic` enforces. No value: strict for a new table, as it is for
  // an existing one.
  std::optional<TopicRule> topics;
  // PostgreSQL: a trigger that notifies listening relays at each commit. No value: off for a new
  // table, as it is for an existing one.
  std::optional<bool> notify;
  // PostgreSQL: row level security by tenant (docs/operating/tenants.md). No value: off for a new
  // table, as it is for an existing one. kInvalidArgument where the database has no such thing.
  std::optional<bool> tenant_isolation;
  // Down: also when undelivered messages would be lost.
  bool discard_undelivered = false;
};

// Which part of the schema's SQL to print.
struct PrintOptions {
  int from = 0;             // the version that the database has; 0: none
  std::optional<int> to;    // the version that it is to have; no value: the newest
  bool transaction = true;  // between BEGIN and COMMIT
};

// An option of a table, as it is or as it was changed to.
struct Switch {
  std::string name;   // "topics", "notify" or "tenant_isolation"
  std::string value;  // "strict", "relaxed", "on" or "off"
};

// What Up did; nothing at all when the table was as asked for.
struct Migrated {
  std::vector<int> applied;      // numbers, oldest first
  std::vector<Switch> switched;  // of a new table: what differs from the defaults
};

struct MigrationState {
  int number = 0;
  std::string name;  // "create_outbox"
  bool applied = false;
};

struct TableSchema {
  bool exists = false;
  bool has_schema = true;  // the schema of its name exists
  bool has_holds = false;  // an older version's pauses were not moved: see RequireCurrent
  int version = 0;         // 0: no migration applied
  int version_latest = 0;  // the newest this program knows
  std::vector<MigrationState> migrations;
  std::vector<Switch> switches;  // of a table that exists, by Migrator::Inspect only
};

class Migrator {
 public:
  virtual ~Migrator() = default;

  virtual Result<TableSchema> Inspect(const std::string& table, Deadline deadline) = 0;
  virtual Result<Migrated> Up(const MigrateOptions& options, Deadline deadline) = 0;
  // Removes the table, and the records of one that somebody dropped. kConflict when it holds
  // undelivered messages and discarding was not asked for.
  virtual Result<std::vector<int>> Down(const MigrateOptions& options, Deadline deadline) = 0;
  // Every outbox table this database knows of, sorted.
  virtual Result<std::vector<std::string>> Tables(Deadline deadline) = 0;
};

}  // namespace outbox::store
