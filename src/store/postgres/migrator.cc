#include "store/postgres/migrator.h"

#include <algorithm>
#include <bit>
#include <thread>

#include "base/text.h"
#include "sql/postgres.h"
#include "store/postgres/classify_error.h"
#include "store/postgres/fnv.h"
#include "store/postgres/schema_script.h"
#include "store/postgres/table_check.h"
#include "store/schema_check.h"

namespace outbox::store::postgres {
namespace {

namespace queries = sql::postgres;
using base::StrCat;

constexpr std::int64_t kLockKey = std::bit_cast<std::int64_t>(Fnv1a("outbox-migrate"));

// How long one try waits for a table, and with it everybody who comes later; then they go first.
constexpr std::chrono::milliseconds kLockWait{2000};
constexpr std::chrono::milliseconds kBetweenTries{500};
// Who uses the table is asked for when the time is over.
constexpr std::chrono::seconds kExplainTime{10};

Result<message::TableName> Parse(const std::string& table) {
  return message::TableName::Parse(table, "public");
}

std::string OnOff(bool on) { return on ? "on" : "off"; }

// The roles that relays and producers are granted may not migrate, and schemas are for their owner
// to make.
Status ExplainMigration(const Status& status) {
  if (status.native() == "3F000") {
    return Status(status).WithHint(
        "create the schema first (CREATE SCHEMA), or name one that exists");
  }
  if (status.code() != Code::kPermission || status.native() != "42501") return status;
  return Status(status).WithHint(
      "run migrations as the owner of the schema and of its outbox tables: a role that may create "
      "tables there, and the schema outbox in the database");
}

}  // namespace

PostgresMigrator::PostgresMigrator(std::shared_ptr<const Address> address)
    : connection_(std::move(address), Plans::kFresh) {}

Result<TableSchema> PostgresMigrator::Inspect(const std::string& table, Deadline deadline) {
  OUTBOX_ASSIGN_OR_RETURN(const message::TableName name, Parse(table));
  OUTBOX_ASSIGN_OR_RETURN(TableSchema schema, ReadTableSchema(connection_, name, deadline));
  if (!schema.exists || schema.version == 0) return schema;
  OUTBOX_ASSIGN_OR_RETURN(const Switches now, ReadSwitches(name, deadline));
  schema.switches = {{"topics", now.strict ? "strict" : "relaxed"},
                     {"notify", OnOff(now.notify)},
                     {"tenant_isolation", OnOff(now.isolated)}};
  return schema;
}

Result<PostgresMigrator::Switches> PostgresMigrator::ReadSwitches(const message::TableName& table,
                                                                  Deadline deadline) {
  static const Statement& kSwitches = *new Statement(queries::kTableSwitches);
  Params names;
  names.Text(table.schema()).Text(table.name());
  OUTBOX_ASSIGN_OR_RETURN(const Rows now, connection_.Execute(kSwitches, names, deadline));
  return Switches{.strict = now.Bool(0, 0), .notify = now.Bool(0, 1), .isolated = now.Bool(0, 2)};
}

template <typename Value>
Result<Value> PostgresMigrator::InTransaction(Work<Value> work, const MigrateOptions& options,
                                              Deadline deadline) {
  OUTBOX_ASSIGN_OR_RETURN(const message::TableName table, Parse(options.table));
  for (;;) {
    const Status begun = Begin(deadline);
    Result<Value> result =
        begun.ok() ? (this->*work)(table, options, deadline) : Result<Value>(begun);
    const Status ended = End(result.error(), deadline);
    if (ended.ok()) return result;
    if (!IsLockFailure(ended.native())) return ExplainMigration(ended);
    if (deadline.remaining() <= kLockWait + kBetweenTries) {
      return ExplainBlocked(table, ended);
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

Status PostgresMigrator::Begin(Deadline deadline) {
  static const Statement& kLock = *new Statement(queries::kLockMigrations);
  static const Statement& kLimit = *new Statement(queries::kLimitLockWait);
  OUTBOX_RETURN_IF_ERROR(connection_.Run("BEGIN", deadline));
  Params key;
  key.Int8(kLockKey);
  OUTBOX_RETURN_IF_ERROR(connection_.Execute(kLock, key, deadline, connection_.session()).error());
  Params wait;
  wait.Int8(std::clamp<std::int64_t>(deadline.remaining().count() / 2, 1, kLockWait.count()));
  return connection_.Execute(kLimit, wait, deadline, connection_.session()).error();
}

Status PostgresMigrator::End(const Status& work, Deadline deadline) {
  if (work.ok()) return connection_.Run("COMMIT", deadline);
  // A session that is closed took its transaction with it.
  if (connection_.session() != 0 && !connection_.Run("ROLLBACK", deadline).ok()) {
    connection_.Close();
  }
  return work;
}

Status PostgresMigrator::ExplainBlocked(const message::TableName& table, const Status& status) {
  static const Statement& kHolders = *new Statement(queries::kTableHolders);
  const std::vector<std::string> names{table.name(), StrCat(table.name(), "_delivery"),
                                       StrCat(table.name(), "_attempt")};
  Params params;
  params.Text(table.schema()).TextArray(names).Int8(kBetweenTries.count());
  const auto rows = connection_.Execute(kHolders, params, Deadline::After(kExplainTime));
  std::vector<std::string> holders;
  for (int row = 0; rows.ok() && row < rows->size(); ++row) {
    const int process = rows->Int4(row, 0);
    const std::string program = base::CleanError(rows->Text(row, 1), 60);
    const std::string age =
        rows->null(row, 2) ? "" : StrCat(", in a transaction for ", rows->Int8(row, 2), " s");
    holders.push_back(
        process == 0
            ? "a prepared transaction"
            : StrCat("process ", process, program.empty() ? "" : StrCat(" (", program, ")"), age));
  }
  return Status::Retry(Code::kConflict,
                       StrCat("table ", table.Display(), " is in use",
                              holders.empty() ? "" : StrCat(" by ", base::Join(holders, "; "))))
      .WithHint(
          "let that transaction end (pg_stat_activity shows it, pg_terminate_backend ends "
          "it), and run the migration again; nothing was changed")
      .WithNative(status.native());
}

Result<Migrated> PostgresMigrator::Up(const MigrateOptions& options, Deadline deadline) {
  OUTBOX_RETURN_IF_ERROR(RequireEncoding(connection_, deadline));
  return InTransaction(&PostgresMigrator::UpInTransaction, options, deadline);
}

Result<Migrated> PostgresMigrator::UpInTransaction(const message::TableName& table,
                                                   const MigrateOptions& options,
                                                   Deadline deadline) {
  static const Statement& kRecord = *new Statement(queries::kRecordMigration);
  OUTBOX_ASSIGN_OR_RETURN(const TableSchema schema, ReadTableSchema(connection_, table, deadline));
  OUTBOX_RETURN_IF_ERROR(RequireOurs(schema, table.Display()));
  OUTBOX_RETURN_IF_ERROR(UpdateShared(deadline));
  if (!schema.exists) OUTBOX_RETURN_IF_ERROR(ForgetDropped(table, deadline));
  Migrated done;
  for (const sql::Migration& migration : queries::kMigrations) {
    if (migration.number <= schema.version) continue;
    OUTBOX_RETURN_IF_ERROR(connection_.Run(table.Render(migration.up), deadline));
    Params record;
    record.Text(table.Display()).Int4(migration.number).Text(migration.name);
    OUTBOX_RETURN_IF_ERROR(connection_.Execute(kRecord, record, deadline).error());
    done.applied.push_back(migration.number);
  }
  const Change change{.created = !schema.exists, .upgraded = !done.applied.empty()};
  OUTBOX_ASSIGN_OR_RETURN(done.switched, ApplySwitches(table, options, change, deadline));
  OUTBOX_RETURN_IF_ERROR(connection_.Run(GrantsScript(table), deadline));
  OUTBOX_RETURN_IF_ERROR(WriteEnqueue(deadline));
  return done;
}

// A table dropped by hand leaves its records behind. Where there are some, the objects named after
// the table are its own; where there are none they are somebody else's, and stay.
Status PostgresMigrator::ForgetDropped(const message::TableName& table, Deadline deadline) {
  static const Statement& kForget = *new Statement(queries::kForgetMigrations);
  Params display;
  display.Text(table.Display());
  OUTBOX_ASSIGN_OR_RETURN(const Rows forgotten, connection_.Execute(kForget, display, deadline));
  if (forgotten.affected() == 0) return Status::Ok();
  return connection_.Run(table.Render(queries::kTableLeftovers), deadline);
}

// Left alone when it is up to date, so that a role that may create tables, but does not own the
// shared objects, can add a table.
Status PostgresMigrator::UpdateShared(Deadline deadline) {
  static const Statement& kVersion = *new Statement(queries::kSharedVersion);
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, connection_.Execute(kVersion, Params(), deadline));
  if (rows.size() == 1 && rows.Text(0, 0) == SharedVersion()) return Status::Ok();
  return connection_.Run(SharedScript(), deadline);
}

Status PostgresMigrator::WriteEnqueue(Deadline deadline) {
  return connection_.Run(std::string(queries::kWriteEnqueue), deadline);
}

Result<std::vector<Switch>> PostgresMigrator::ApplySwitches(const message::TableName& table,
                                                            const MigrateOptions& options,
                                                            Change change, Deadline deadline) {
  OUTBOX_ASSIGN_OR_RETURN(const Switches now, ReadSwitches(table, deadline));
  const bool strict =
      options.topics ? *options.topics == TopicRule::kStrict : change.created || now.strict;
  const bool notify = options.notify.value_or(now.notify);
  const bool isolated = options.tenant_isolation.value_or(now.isolated);
  std::vector<Switch> switched;
  // Creating a trigger locks the table against writers: only where something changes.
  if (change.created || strict != now.strict) {
    const TopicRule rule = strict ? TopicRule::kStrict : TopicRule::kRelaxed;
    OUTBOX_RETURN_IF_ERROR(connection_.Run(TopicsScript(table, rule), deadline));
  }
  if (strict != (change.created || now.strict)) {
    switched.push_back({"topics", strict ? "strict" : "relaxed"});
  }
  if (notify != now.notify) {
    OUTBOX_RETURN_IF_ERROR(connection_.Run(NotifyScript(table, notify), deadline));
    switched.push_back({"notify", OnOff(notify)});
  }
  // A migration may have added a table, which is isolated like the others.
  if (isolated != now.isolated || (isolated && change.upgraded)) {
    OUTBOX_RETURN_IF_ERROR(connection_.Run(IsolationScript(table, isolated), deadline));
  }
  if (isolated != now.isolated) switched.push_back({"tenant_isolation", OnOff(isolated)});
  return switched;
}

Result<std::vector<int>> PostgresMigrator::Down(const MigrateOptions& options, Deadline deadline) {
  return InTransaction(&PostgresMigrator::DownInTransaction, options, deadline);
}

Result<std::vector<int>> PostgresMigrator::DownInTransaction(const message::TableName& table,
                                                             const MigrateOptions& options,
                                                             Deadline deadline) {
  static const Statement& kForget = *new Statement(queries::kForgetMigrations);
  static const Statement& kTables = *new Statement(queries::kMigratedTables);
  std::vector<int> removed;
  OUTBOX_ASSIGN_OR_RETURN(const TableSchema schema, ReadTableSchema(connection_, table, deadline));
  OUTBOX_RETURN_IF_ERROR(RequireOurs(schema, table.Display()));
  if (!schema.exists) {
    OUTBOX_ASSIGN_OR_RETURN(const bool records, SharedExists("migration", deadline));
    if (!records) return removed;
    OUTBOX_RETURN_IF_ERROR(ForgetDropped(table, deadline));
    OUTBOX_RETURN_IF_ERROR(WriteEnqueue(deadline));
    return removed;
  }
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
  OUTBOX_RETURN_IF_ERROR(ForgetPauses(table, deadline));
  OUTBOX_ASSIGN_OR_RETURN(const Rows left, connection_.Execute(kTables, Params(), deadline));
  OUTBOX_RETURN_IF_ERROR(left.size() == 0
                             ? connection_.Run(std::string(queries::kSharedDrop), deadline)
                             : WriteEnqueue(deadline));
  return removed;
}

// A table of the same name that is made later must not start paused.
Status PostgresMigrator::ForgetPauses(const message::TableName& table, Deadline deadline) {
  static const Statement& kForget = *new Statement(queries::kForgetPauses);
  OUTBOX_ASSIGN_OR_RETURN(const bool there, SharedExists("pause", deadline));
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

Result<bool> PostgresMigrator::SharedExists(std::string_view name, Deadline deadline) {
  static const Statement& kState = *new Statement(queries::kTableState);
  Params names;
  names.Text("outbox").Text(name);
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, connection_.Execute(kState, names, deadline));
  return rows.Bool(0, 0);
}

Result<std::vector<std::string>> PostgresMigrator::Tables(Deadline deadline) {
  return ReadTables(connection_, deadline);
}

}  // namespace outbox::store::postgres
