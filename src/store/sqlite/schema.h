// Schema: what the database says about a table's version, and whether this program may use it.
#pragma once

#include <string>
#include <vector>

#include "message/table_name.h"
#include "outbox/status.h"
#include "store/migrator.h"
#include "store/sqlite/connection.h"

namespace outbox::store::sqlite {

// Whether any table was ever migrated here.
Result<bool> HasRegistry(Connection& connection);

// Whether the tables for heartbeats, pauses and the audit are there.
Result<bool> HasControl(Connection& connection);

// Whether an older version left its table of pauses.
Result<bool> HasHolds(Connection& connection);

// What the registry `outbox_migration` and the catalogue say. Not an error when there is nothing.
Result<TableSchema> ReadSchema(Connection& connection, const message::TableName& table);

// Every table the registry knows.
Result<std::vector<std::string>> ReadTables(Connection& connection);

// OK when the table can be used: kNotFound when it is missing; kSchema when it is not ours, older
// or newer. The hint is the command that helps.
Status CheckUsable(Connection& connection, const message::TableName& table);

}  // namespace outbox::store::sqlite
