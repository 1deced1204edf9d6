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

}  // namespace

int LatestVersion() noexcept { return sql::postgres::kMigrations.back().number; }

Result<TableSchema> ReadTableSchema(Connection& connection, const message::TableName& table,
                                    Deadline deadline) {
  static const Statement kState(sql::postgres::kTableState);
  static const Statement kApplied(sql::postgres::kAppliedMigrations);
  TableSchema schema;
  schema.version_latest = LatestVersion();
  Params names;
  names.Text(table.schema()).Text(table.name());
  OUTBOX_ASSIGN_OR_RETURN(const Rows state, connection.Execute(kState, names, deadline));
  schema.exists = state.Bool(0, 0);
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

Status RequireTable(Connection& connection, const message::TableName& table,
                    const std::vector<std::string>& access, Deadline deadline) {
  static const Statement kMissing(sql::postgres::kMissingPrivileges);
  const auto schema = ReadTableSchema(connection, table, deadline);
  if (!schema.ok()) return ExplainPermission(schema.error(), table);
  if (!schema->exists) {
    return Status::Permanent(Code::kNotFound, StrCat("table ", table.Display(), " does not exist"))
        .WithHint(MigrateHint(table.Display()));
  }
  OUTBOX_RETURN_IF_ERROR(RequireCurrent(*schema, table.Display()));
  Params params;
  params.Text(table.schema()).Text(table.name()).TextArray(access);
  const auto missing = connection.Execute(kMissing, params, deadline);
  if (!missing.ok()) return ExplainPermission(missing.error(), table);
  if (missing->size() == 0) return Status::Ok();
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(missing->size()));
  for (int row = 0; row < missing->size(); ++row) names.emplace_back(missing->Text(row, 0));
  return Status::Permanent(Code::kPermission, StrCat("this role may not ", base::Join(names, ", "),
                                                     " on table ", table.Display()))
      .WithHint("GRANT outbox_relay TO this role, or connect as the table's owner")
      .WithNative("42501");
}

}  // namespace outbox::store::postgres
