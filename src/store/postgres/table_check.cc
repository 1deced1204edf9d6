#include "store/postgres/table_check.h"

#include <algorithm>

#include "base/text.h"
#include "sql/postgres.h"
#include "store/schema_check.h"

namespace outbox::store::postgres {
namespace {

using base::StrCat;

// Names the table and the role to grant, which the server's own message can not know.
Status ExplainPermission(Status status, const message::TableName& table) {
  if (status.code() != Code::kPermission) return status;
  return Status::Permanent(Code::kPermission, StrCat("no permission on table ", table.Display(),
                                                     ": ", status.message()))
      .WithHint("GRANT outbox_relay TO this role, or connect as the table's owner")
      .WithNative(status.native());
}

std::vector<std::string> RightsOf(Access access) {
  if (access == Access::kRead) return {"SELECT"};
  return {"SELECT", "UPDATE", "DELETE"};
}

}  // namespace

int LatestVersion() noexcept { return sql::postgres::kMigrations.back().number; }

Result<TableSchema> ReadTableSchema(Connection& connection, const message::TableName& table,
                                    Deadline deadline) {
  static const Statement& kState = *new Statement(sql::postgres::kTableState);
  static const Statement& kApplied = *new Statement(sql::postgres::kAppliedMigrations);
  TableSchema schema;
  schema.version_latest = LatestVersion();
  Params names;
  names.Text(table.schema()).Text(table.name());
  OUTBOX_ASSIGN_OR_RETURN(const Rows state, connection.Execute(kState, names, deadline));
  schema.exists = state.Bool(0, 0);
  schema.has_schema = state.Bool(0, 2);
  schema.has_holds = state.Bool(0, 3);
  std::vector<int> applied;
  if (state.Bool(0, 1)) {
    Params display;
    display.Text(table.Display());
    OUTBOX_ASSIGN_OR_RETURN(const Rows rows, connection.Execute(kApplied, display, deadline));
    for (int row = 0; row < rows.size(); ++row) applied.push_back(rows.Int4(row, 0));
  }
  if (!applied.empty() && schema.exists) schema.version = applied.back();
  for (const sql::Migration& migration : sql::postgres::kMigrations) {
    const bool done = schema.exists &&
                      std::find(applied.begin(), applied.end(), migration.number) != applied.end();
    schema.migrations.push_back({migration.number, std::string(migration.name), done});
  }
  return schema;
}

Result<std::vector<std::string>> ReadTables(Connection& connection, Deadline deadline) {
  static const Statement& kState = *new Statement(sql::postgres::kTableState);
  static const Statement& kTables = *new Statement(sql::postgres::kMigratedTables);
  std::vector<std::string> tables;
  Params registry;
  registry.Text("outbox").Text("migration");
  OUTBOX_ASSIGN_OR_RETURN(const Rows state, connection.Execute(kState, registry, deadline));
  if (!state.Bool(0, 0)) return tables;
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, connection.Execute(kTables, Params(), deadline));
  for (int row = 0; row < rows.size(); ++row) tables.emplace_back(rows.Text(row, 0));
  return tables;
}

Status RequireEncoding(Connection& connection, Deadline deadline) {
  OUTBOX_RETURN_IF_ERROR(connection.Open(deadline));
  if (connection.encoding() != "SQL_ASCII") return Status::Ok();
  return Status::Permanent(Code::kSchema,
                           "the database's encoding is SQL_ASCII: it does not check text, and a "
                           "message that is not UTF-8 would block all others")
      .WithHint("use a database made with CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8'");
}

Status RequireAllRows(Connection& connection, const message::TableName& table, Deadline deadline) {
  static const Statement& kHidden = *new Statement(sql::postgres::kHiddenRows);
  Params names;
  names.Text(table.schema()).Text(table.name());
  OUTBOX_ASSIGN_OR_RETURN(const Rows rows, connection.Execute(kHidden, names, deadline));
  if (rows.size() == 0 || !rows.Bool(0, 0)) return Status::Ok();
  return Status::Permanent(Code::kPermission,
                           StrCat("row level security hides the messages of table ",
                                  table.Display(), " from this role"))
      .WithHint(
          "GRANT outbox_relay TO this role; as the table's new owner, switch tenant isolation "
          "off and on again")
      .WithNative("42501");
}

Status RequireTable(Connection& connection, const message::TableName& table, Access access,
                    Deadline deadline) {
  static const Statement& kMissing = *new Statement(sql::postgres::kMissingPrivileges);
  OUTBOX_RETURN_IF_ERROR(RequireEncoding(connection, deadline));
  const auto schema = ReadTableSchema(connection, table, deadline);
  if (!schema.ok()) return ExplainPermission(schema.error(), table);
  if (!schema->exists) {
    return Status::Permanent(Code::kNotFound, StrCat("table ", table.Display(), " does not exist"))
        .WithHint(AbsentHint(table.Display(), ReadTables(connection, deadline),
                             schema->has_schema ? "" : table.schema()));
  }
  OUTBOX_RETURN_IF_ERROR(RequireCurrent(*schema, table.Display()));
  Params params;
  params.Text(table.schema()).Text(table.name()).TextArray(RightsOf(access));
  const auto missing = connection.Execute(kMissing, params, deadline);
  if (!missing.ok()) return ExplainPermission(missing.error(), table);
  if (missing->size() == 0) {
    return access == Access::kRead ? Status::Ok() : RequireAllRows(connection, table, deadline);
  }
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(missing->size()));
  for (int row = 0; row < missing->size(); ++row) names.emplace_back(missing->Text(row, 0));
  return Status::Permanent(Code::kPermission, StrCat("this role may not ", base::Join(names, ", "),
                                                     " on table ", table.Display()))
      .WithHint("GRANT outbox_relay TO this role, or connect as the table's owner")
      .WithNative("42501");
}

}  // namespace outbox::store::postgres
