#include "store/sqlite/schema.h"

#include <algorithm>

#include "base/text.h"
#include "sql/sqlite.h"
#include "store/schema_check.h"
#include "store/sqlite/table.h"

namespace outbox::store::sqlite {
namespace {

constexpr std::string_view kRegistry = "outbox_migration";

Result<bool> TableExists(Connection& connection, std::string_view name) {
  OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(sql::sqlite::kFindTable));
  return query.Bind(1, name).Step();
}

}  // namespace

Result<bool> HasRegistry(Connection& connection) { return TableExists(connection, kRegistry); }

Result<bool> HasControl(Connection& connection) {
  // The last of them that was added.
  return TableExists(connection, "outbox_pause");
}

Result<bool> HasHolds(Connection& connection) { return TableExists(connection, "outbox_hold"); }

Result<TableSchema> ReadSchema(Connection& connection, const message::TableName& table) {
  TableSchema schema;
  for (const sql::Migration& migration : sql::sqlite::kMigrations) {
    schema.version_latest = std::max(schema.version_latest, migration.number);
    schema.migrations.push_back({migration.number, std::string(migration.name), false});
  }
  OUTBOX_ASSIGN_OR_RETURN(schema.exists, TableExists(connection, table.name()));
  OUTBOX_ASSIGN_OR_RETURN(schema.has_holds, HasHolds(connection));
  OUTBOX_ASSIGN_OR_RETURN(const bool registry, HasRegistry(connection));
  if (!registry || !schema.exists) return schema;

  OUTBOX_ASSIGN_OR_RETURN(Query applied, connection.Prepare(sql::sqlite::kReadMigrations));
  applied.Bind(1, table.name());
  while (true) {
    OUTBOX_ASSIGN_OR_RETURN(const bool found, applied.Step());
    if (!found) return schema;
    const int number = static_cast<int>(applied.Int(0));
    schema.version = std::max(schema.version, number);
    const auto known = std::find_if(schema.migrations.begin(), schema.migrations.end(),
                                    [&](const auto& state) { return state.number == number; });
    if (known != schema.migrations.end()) {
      known->applied = true;
    } else {
      schema.migrations.push_back({number, std::string(applied.Text(1)), true});
    }
  }
}

Result<std::vector<std::string>> ReadTables(Connection& connection) {
  std::vector<std::string> tables;
  OUTBOX_ASSIGN_OR_RETURN(const bool registry, HasRegistry(connection));
  if (!registry) return tables;
  OUTBOX_ASSIGN_OR_RETURN(Query query, connection.Prepare(sql::sqlite::kListTables));
  while (true) {
    OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Step());
    if (!found) return tables;
    tables.emplace_back(query.Text(0));
  }
}

Status CheckUsable(Connection& connection, const message::TableName& table) {
  OUTBOX_ASSIGN_OR_RETURN(const TableSchema schema, ReadSchema(connection, table));
  if (!schema.exists) {
    return Status::Permanent(Code::kNotFound,
                             base::StrCat("table '", table.name(), "' does not exist in sqlite '",
                                          connection.path(), "'"))
        .WithHint(AbsentHint(table.name(), ReadTables(connection)));
  }
  return RequireCurrent(schema, table.name());
}

}  // namespace outbox::store::sqlite
