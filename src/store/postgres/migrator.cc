#include "store/postgres/migrator.h"

#include <bit>

#include "base/text.h"
#include "sql/postgres.h"
#include "store/postgres/fnv.h"
#include "store/postgres/schema_script.h"
#include "store/postgres/table_check.h"
#include "store/schema_check.h"

namespace outbox::store::postgres {
namespace {

namespace queries = sql::postgres;
using base::StrCat;

constexpr std::int64_t kLockKey = std::bit_cast<std::int64_t>(Fnv1a("outbox-migrate"));

Result<message::TableName> Parse(const std::string& table) {
  return message::TableName::Parse(table, "public");
}

}  // namespace

PostgresMigrator::PostgresMigrator(std::shared_ptr<const Address> address)
    : connection_(std::move(address), Plans::kFresh) {}

Result<TableSchema> PostgresMigrator::Inspect(const std::string& table, Deadline deadline) {
  OUTBOX_ASSIGN_OR_RETURN(const message::TableName name, Parse(table));
  return ReadTableSchema(connection_, name, deadline);
}

Status PostgresMigrator::Begin(Deadline deadline) {
  static const Statement kLock(queries::kLockMigrations);
  OUTBOX_RETURN_IF_ERROR(connection_.Run("BEGIN", deadline));
  Params params;
  params.Int8(kLockKey);
  return connection_.Execute(kLock, params, deadline, connection_.session()).error();
}

Result<std::vector<int>> PostgresMigrator::End(Result<std::vector<int>> result, Deadline deadline) {
  if (!result.ok()) {
    // A session that is closed took its transaction with it.
    if (connection_.session() != 0 && !connection_.Run("ROLLBACK", deadline).ok()) {
      connection_.Close();
    }
    return result;
  }
  OUTBOX_RETURN_IF_ERROR(connection_.Run("COMMIT", deadline));
  return result;
}

Result<std::vector<int>> PostgresMigrator::Up(const MigrateOptions& options, Deadline deadline) {
  OUTBOX_ASSIGN_OR_RETURN(const message::TableName table, Parse(options.table));
  if (const Status begun = Begin(deadline); !begun.ok()) return End(begun, deadline);
  return End(UpInTransaction(table, options, deadline), deadline);
}

Result<std::vector<int>> PostgresMigrator::UpInTransaction(const message::TableName& table,
                                                           const MigrateOptions& options,
                                                           Deadline deadline) {
  static const Statement kRecord(queries::kRecordMigration);
  OUTBOX_ASSIGN_OR_RETURN(const TableSchema schema, ReadTableSchema(connection_, table, deadline));
  OUTBOX_RETURN_IF_ERROR(RequireOurs(schema, table.Display()));
  OUTBOX_RETURN_IF_ERROR(UpdateShared(deadline));
  if (!schema.exists) OUTBOX_RETURN_IF_ERROR(ForgetDropped(table, deadline));
  std::vector<int> applied;
  for (const sql::Migration& migration : queries::kMigrations) {
    if (migration.number <= schema.version) continue;
    OUTBOX_RETURN_IF_ERROR(connection_.Run(table.Render(migration.up), deadline));
    Params record;
    record.Text(table.Display()).Int4(migration.number).Text(migration.name);
    OUTBOX_RETURN_IF_ERROR(connection_.Execute(kRecord, record, deadline).error());
    applied.push_back(migration.number);
  }
  OUTBOX_RETURN_IF_ERROR(ApplySwitches(
      table, options, {.created = !schema.exists, .upgraded = !applied.empty()}, deadline));
  OUTBOX_RETURN_IF_ERROR(connection_.Run(GrantsScript(table), deadline));
  return applied;
}

// A table dropped by hand leaves its records behind. Where there are some, the objects named after
// the table are its own; where there are none they are somebody else's, and stay.
Status PostgresMigrator::ForgetDropped(const message::TableName& table, Deadline deadline) {
  static const Statement kForget(queries::kForgetMigrations);
  Params display;
  display.Text(table.Display());
  OUTBOX_ASSIGN_OR_RETURN(const Rows forgotten, connection_.Execute(kForget, display, deadline));
  if (forgotten.affected() == 0) return Status::Ok();
  return connection_.Run(table.Render(queries::kTableLeftovers), deadline);
}

// Left alone when it is up to date, so that a role that may create tables, but does not own the
// shared objects, can add a table.
Status PostgresMigrator::UpdateShared(Deadline deadline) {
  static const Statement kVersion(queries::kSharedVersion);
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, connection_.Execute(kVersion, Params(), deadline));
  if (rows.size() == 1 && rows.Text(0, 0) == SharedVersion()) return Status::Ok();
  return connection_.Run(SharedScript(), deadline);
}

Status PostgresMigrator::ApplySwitches(const message::TableName& table,
                                       const MigrateOptions& options, Change change,
                                       Deadline deadline) {
  static const Statement kSwitches(queries::kTableSwitches);
  Params names;
  names.Text(table.schema()).Text(table.name());
  OUTBOX_ASSIGN_OR_RETURN(const Rows now, connection_.Execute(kSwitches, names, deadline));
  const bool strict_now = now.Bool(0, 0);
  const bool notify_now = now.Bool(0, 1);
  const bool strict =
      options.topics ? *options.topics == TopicRule::kStrict : change.created || strict_now;
  const bool notify = options.notify.value_or(notify_now);
  const bool isolated_now = now.Bool(0, 2);
  const bool isolated = options.tenant_isolation.value_or(isolated_now);
  // Creating a trigger locks the table against writers: only where something changes.
  if (change.created || strict != strict_now) {
    const TopicRule rule = strict ? TopicRule::kStrict : TopicRule::kRelaxed;
    OUTBOX_RETURN_IF_ERROR(connection_.Run(TopicsScript(table, rule), deadline));
  }
  if (notify != notify_now) {
    OUTBOX_RETURN_IF_ERROR(connection_.Run(NotifyScript(table, notify), deadline));
  }
  // A migration may have added a table, which is isolated like the others.
  if (isolated != isolated_now || (isolated && change.upgraded)) {
    OUTBOX_RETURN_IF_ERROR(connection_.Run(IsolationScript(table, isolated), deadline));
  }
  return Status::Ok();
}

Result<std::vector<int>> PostgresMigrator::Down(const MigrateOptions& options, Deadline deadline) {
  OUTBOX_ASSIGN_OR_RETURN(const message::TableName table, Parse(options.table));
  if (const Status begun = Begin(deadline); !begun.ok()) return End(begun, deadline);
  return End(DownInTransaction(table, options, deadline), deadline);
}

Result<std::vector<int>> PostgresMigrator::DownInTransaction(const message::TableName& table,
                                                             const MigrateOptions& options,
                                                             Deadline deadline) {
  static const Statement kForget(queries::kForgetMigrations);
  static const Statement kTables(queries::kMigratedTables);
  std::vector<int> removed;
  OUTBOX_ASSIGN_OR_RETURN(const TableSchema schema, ReadTableSchema(connection_, table, deadline));
  OUTBOX_RETURN_IF_ERROR(RequireOurs(schema, table.Display()));
  if (!schema.exists) return removed;
  if (!options.discard_undelivered) OUTBOX_RETURN_IF_ERROR(RefuseUndelivered(table, deadline));
  for (auto migration = queries::kMigrations.rbegin(); migration != queries::kMigrations.rend();
       ++migration) {
    if (migration->number > schema.version) continue;
    OUTBOX_RETURN_IF_ERROR(connection_.Run(table.Render(migration->down), deadline));
    removed.push_back(migration->number);
  }
  Params display;
  display.Text(table.Display());
  OUTBOX_RETURN_IF_ERROR(connection_.Execute(kForget, display, deadline).error());
  OUTBOX_RETURN_IF_ERROR(ForgetHolds(table, deadline));
  OUTBOX_ASSIGN_OR_RETURN(const Rows left, connection_.Execute(kTables, Params(), deadline));
  if (left.size() == 0) {
    OUTBOX_RETURN_IF_ERROR(connection_.Run(std::string(queries::kSharedDrop), deadline));
  }
  return removed;
}

// A table of the same name that is made later must not start held.
Status PostgresMigrator::ForgetHolds(const message::TableName& table, Deadline deadline) {
  static const Statement kForget(queries::kForgetHolds);
  OUTBOX_ASSIGN_OR_RETURN(const bool there, SharedExists("hold", deadline));
  if (!there) return Status::Ok();
  Params display;
  display.Text(table.Display());
  return connection_.Execute(kForget, display, deadline).error();
}

Status PostgresMigrator::RefuseUndelivered(const message::TableName& table, Deadline deadline) {
  // Nobody may add a message between the look and the drop.
  OUTBOX_RETURN_IF_ERROR(connection_.Run(table.Render(queries::kLockTable), deadline));
  OUTBOX_ASSIGN_OR_RETURN(
      const Rows rows,
      connection_.Execute(Statement(table, queries::kHasUndelivered), Params(), deadline));
  if (!rows.Bool(0, 0)) return Status::Ok();
  return Status::Permanent(Code::kConflict, StrCat("table ", table.Display(),
                                                   " holds messages that were not delivered"))
      .WithHint("deliver them (outboxd relay --drain), or discard them with --discard-undelivered");
}

Result<std::string> PostgresMigrator::Print(const MigrateOptions& options) {
  OUTBOX_ASSIGN_OR_RETURN(const message::TableName table, Parse(options.table));
  return CompleteScript(table, options);
}

Result<bool> PostgresMigrator::SharedExists(std::string_view name, Deadline deadline) {
  static const Statement kState(queries::kTableState);
  Params names;
  names.Text("outbox").Text(name);
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, connection_.Execute(kState, names, deadline));
  return rows.Bool(0, 0);
}

Result<std::vector<std::string>> PostgresMigrator::Tables(Deadline deadline) {
  static const Statement kTables(queries::kMigratedTables);
  std::vector<std::string> tables;
  OUTBOX_ASSIGN_OR_RETURN(const bool exists, SharedExists("migration", deadline));
  if (!exists) return tables;
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, connection_.Execute(kTables, Params(), deadline));
  for (int row = 0; row < rows.size(); ++row) tables.emplace_back(rows.Text(row, 0));
  return tables;
}

}  // namespace outbox::store::postgres
