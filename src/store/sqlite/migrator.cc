#include "store/sqlite/migrator.h"

#include <algorithm>

#include "base/text.h"
#include "sql/sqlite.h"
#include "store/schema_check.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/table.h"

namespace outbox::store::sqlite {
namespace {

using message::TableName;
using sql::sqlite::kMigrations;

// Down's refusal counts up to here.
constexpr std::int64_t kRowsCountedMax = 1000;

bool Applied(const TableSchema& schema, int number) {
  return std::any_of(schema.migrations.begin(), schema.migrations.end(),
                     [&](const auto& state) { return state.number == number && state.applied; });
}

Status RunMigration(Connection& connection, const TableName& table, std::string_view sql) {
  return connection.Execute(table.Render(sql));
}

Status Record(Connection& connection, const TableName& table, const sql::Migration& migration) {
  OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(sql::sqlite::kRecordMigration));
  query.Bind(1, table.name()).Bind(2, migration.number).Bind(3, migration.name);
  return query.Run().error();
}

Status Forget(Connection& connection, const TableName& table, int number) {
  OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(sql::sqlite::kForgetMigration));
  return query.Bind(1, table.name()).Bind(2, number).Run().error();
}

// A table dropped by hand leaves its records behind. Where there are some, the tables named after
// it are its own; where there are none they are somebody else's, and stay.
Status ForgetDropped(Connection& connection, const TableName& table) {
  std::int64_t forgotten = 0;
  for (const sql::Migration& migration : kMigrations) {
    OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(sql::sqlite::kForgetMigration));
    OUTBOX_ASSIGN_OR_RETURN(const auto removed,
                            query.Bind(1, table.name()).Bind(2, migration.number).Run());
    forgotten += static_cast<std::int64_t>(removed);
  }
  if (forgotten == 0) return Status::Ok();
  return connection.Execute(table.Render(sql::sqlite::kDropLeftovers));
}

// A table of the same name that is made later must not start paused.
Status ForgetPauses(Connection& connection, const TableName& table) {
  OUTBOX_ASSIGN_OR_RETURN(const bool there, HasControl(connection));
  if (!there) return Status::Ok();
  OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(sql::sqlite::kResumeRelays));
  return query.Bind(1, table.name()).Bind(2, std::string_view()).Run().error();
}

Status TakeOverHolds(Connection& connection) {
  OUTBOX_ASSIGN_OR_RETURN(const bool there, HasHolds(connection));
  return there ? connection.Execute(std::string(sql::sqlite::kTakeOverHolds)) : Status::Ok();
}

Result<bool> HasTopicTrigger(Connection& connection, const TableName& table) {
  OUTBOX_ASSIGN_OR_RETURN(Query query,
                          connection.Prepare(table.Render(sql::sqlite::kFindTopicTrigger)));
  return query.Step();
}

// No value leaves the rule as it is, or makes that of a new table strict. Says what was switched.
Result<std::vector<Switch>> SetTopicRule(Connection& connection, const TableName& table,
                                         std::optional<TopicRule> rule, bool created) {
  OUTBOX_ASSIGN_OR_RETURN(const bool enforced, HasTopicTrigger(connection, table));
  const bool strict = rule ? *rule == TopicRule::kStrict : created || enforced;
  if (strict != enforced) {
    OUTBOX_RETURN_IF_ERROR(connection.Execute(
        table.Render(strict ? sql::sqlite::kCreateTopicTrigger : sql::sqlite::kDropTopicTrigger)));
  }
  std::vector<Switch> switched;
  if (strict != (created || enforced)) {
    switched.push_back({"topics", strict ? "strict" : "relaxed"});
  }
  return switched;
}

Result<Migrated> UpOn(Connection& connection, const TableName& table,
                      std::optional<TopicRule> topics) {
  OUTBOX_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(connection));
  OUTBOX_RETURN_IF_ERROR(connection.Execute(std::string(sql::sqlite::kCreateRegistry)));
  OUTBOX_RETURN_IF_ERROR(connection.Execute(std::string(sql::sqlite::kCreateControl)));
  OUTBOX_RETURN_IF_ERROR(TakeOverHolds(connection));
  OUTBOX_ASSIGN_OR_RETURN(const TableSchema schema, ReadSchema(connection, table));
  OUTBOX_RETURN_IF_ERROR(RequireOurs(schema, table.name()));
  if (!schema.exists) OUTBOX_RETURN_IF_ERROR(ForgetDropped(connection, table));
  Migrated done;
  for (const sql::Migration& migration : kMigrations) {
    if (Applied(schema, migration.number)) continue;
    OUTBOX_RETURN_IF_ERROR(RunMigration(connection, table, migration.up));
    OUTBOX_RETURN_IF_ERROR(Record(connection, table, migration));
    done.applied.push_back(migration.number);
  }
  OUTBOX_ASSIGN_OR_RETURN(done.switched, SetTopicRule(connection, table, topics, !schema.exists));
  OUTBOX_RETURN_IF_ERROR(transaction.Commit());
  return done;
}

Status CheckNothingUndelivered(Connection& connection, const TableName& table) {
  OUTBOX_ASSIGN_OR_RETURN(Query query,
                          connection.Prepare(table.Render(sql::sqlite::kCountUndelivered)));
  OUTBOX_RETURN_IF_ERROR(query.Bind(1, kRowsCountedMax).Step().error());
  const std::int64_t count = query.Int(0);
  if (count == 0) return Status::Ok();
  const std::string_view more = count == kRowsCountedMax ? " or more" : "";
  return Status::Permanent(Code::kConflict, base::StrCat("table '", table.name(), "' holds ", count,
                                                         more, " messages that were not delivered"))
      .WithHint("deliver or delete them first, or say that they may be discarded");
}

Result<std::vector<int>> DownOn(Connection& connection, const TableName& table, bool discard) {
  OUTBOX_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(connection));
  OUTBOX_ASSIGN_OR_RETURN(const TableSchema schema, ReadSchema(connection, table));
  if (!schema.exists) {
    OUTBOX_ASSIGN_OR_RETURN(const bool registry, HasRegistry(connection));
    if (registry) OUTBOX_RETURN_IF_ERROR(ForgetDropped(connection, table));
    OUTBOX_RETURN_IF_ERROR(transaction.Commit());
    return std::vector<int>{};
  }
  OUTBOX_RETURN_IF_ERROR(RequireOurs(schema, table.name()));
  if (!discard) OUTBOX_RETURN_IF_ERROR(CheckNothingUndelivered(connection, table));
  std::vector<int> undone;
  for (auto number = kMigrations.size(); number > 0; --number) {
    const sql::Migration& migration = kMigrations[number - 1];
    if (!Applied(schema, migration.number)) continue;
    OUTBOX_RETURN_IF_ERROR(RunMigration(connection, table, migration.down));
    OUTBOX_RETURN_IF_ERROR(Forget(connection, table, migration.number));
    undone.push_back(migration.number);
  }
  OUTBOX_RETURN_IF_ERROR(ForgetPauses(connection, table));
  OUTBOX_RETURN_IF_ERROR(transaction.Commit());
  return undone;
}

// Who can read the file can read every row; saying otherwise would be worse than refusing.
Status RefuseIsolation(const MigrateOptions& options) {
  if (!options.tenant_isolation.value_or(false)) return Status::Ok();
  return Status::Invalid("tenant isolation: SQLite has no row level security")
      .WithHint("use PostgreSQL, or leave the option out");
}

// SQLite raises errors only in triggers and constraints; this one's name is the message.
std::string RequireVersion(const TableName& table, int version) {
  return base::StrCat("CREATE TEMP TABLE \"outbox_require\" (version INTEGER,\n",
                      "  CONSTRAINT \"this script upgrades version ", version, " of ", table.name(),
                      "\" CHECK (version = ", version, "));\n",
                      "INSERT INTO temp.\"outbox_require\" SELECT coalesce(max(number), 0)\n",
                      "  FROM \"outbox_migration\" WHERE table_name = '", table.name(), "';\n",
                      "DROP TABLE temp.\"outbox_require\";\n\n");
}

class SqliteMigrator final : public Migrator {
 public:
  explicit SqliteMigrator(std::string path) : path_(std::move(path)) {}

  Result<TableSchema> Inspect(const std::string& table, Deadline deadline) override {
    OUTBOX_ASSIGN_OR_RETURN(const TableName name, ParseTable(table));
    OUTBOX_ASSIGN_OR_RETURN(auto connection,
                            Connection::Open(path_, OpenMode::kExisting, deadline));
    OUTBOX_ASSIGN_OR_RETURN(TableSchema schema, ReadSchema(*connection, name));
    if (!schema.exists || schema.version == 0) return schema;
    OUTBOX_ASSIGN_OR_RETURN(const bool strict, HasTopicTrigger(*connection, name));
    schema.switches = {{"topics", strict ? "strict" : "relaxed"}};
    return schema;
  }

  Result<Migrated> Up(const MigrateOptions& options, Deadline deadline) override {
    OUTBOX_RETURN_IF_ERROR(RefuseIsolation(options));
    OUTBOX_ASSIGN_OR_RETURN(const TableName name, ParseTable(options.table));
    OUTBOX_ASSIGN_OR_RETURN(auto connection, Connection::Open(path_, OpenMode::kCreate, deadline));
    return UpOn(*connection, name, options.topics);
  }

  Result<std::vector<int>> Down(const MigrateOptions& options, Deadline deadline) override {
    OUTBOX_ASSIGN_OR_RETURN(const TableName name, ParseTable(options.table));
    OUTBOX_ASSIGN_OR_RETURN(auto connection,
                            Connection::Open(path_, OpenMode::kExisting, deadline));
    return DownOn(*connection, name, options.discard_undelivered);
  }

  Result<std::vector<std::string>> Tables(Deadline deadline) override {
    OUTBOX_ASSIGN_OR_RETURN(auto connection,
                            Connection::Open(path_, OpenMode::kExisting, deadline));
    return ReadTables(*connection);
  }

 private:
  std::string path_;
};

}  // namespace

Result<std::string> PrintMigration(const MigrateOptions& options, const PrintOptions& print) {
  OUTBOX_RETURN_IF_ERROR(RefuseIsolation(options));
  OUTBOX_ASSIGN_OR_RETURN(const TableName name, ParseTable(options.table));
  OUTBOX_ASSIGN_OR_RETURN(const int to, CheckRange(print, kMigrations.back().number));
  std::string script =
      base::StrCat(print.transaction ? "BEGIN IMMEDIATE;\n\n" : "", sql::sqlite::kCreateRegistry,
                   "\n", sql::sqlite::kCreateControl, "\n");
  const bool creates = print.from == 0;
  if (!creates) {
    script += base::StrCat(sql::sqlite::kTakeOverHolds, "\n", RequireVersion(name, print.from));
  }
  for (const sql::Migration& migration : kMigrations) {
    if (migration.number <= print.from || migration.number > to) continue;
    script += base::StrCat(name.Render(migration.up), "\n",
                           "INSERT INTO \"outbox_migration\" (table_name, number, name) VALUES ('",
                           name.name(), "', ", migration.number, ", '", migration.name, "');\n\n");
  }
  if (!creates && options.topics) {
    script += base::StrCat(name.Render(sql::sqlite::kDropTopicTrigger), "\n");
  }
  const TopicRule rule =
      options.topics.value_or(creates ? TopicRule::kStrict : TopicRule::kRelaxed);
  if (rule == TopicRule::kStrict) {
    script += base::StrCat(name.Render(sql::sqlite::kCreateTopicTrigger), "\n");
  }
  return script + (print.transaction ? "COMMIT;\n" : "");
}

std::unique_ptr<Migrator> MakeMigrator(const std::string& path) {
  return std::make_unique<SqliteMigrator>(path);
}

}  // namespace outbox::store::sqlite
