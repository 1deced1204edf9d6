// Table check: is the table there, is it ours, of a version we know, and may this role use it?
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "message/table_name.h"
#include "outbox/deadline.h"
#include "outbox/status.h"
#include "store/migrator.h"
#include "store/postgres/connection.h"

namespace outbox::store::postgres {

// The rights a reader of the table needs. Operators and cleaners need the relay's.
enum class Access : std::uint8_t { kRead, kRelay };

// What the catalog and the migration records say about `table`.
Result<TableSchema> ReadTableSchema(Connection& connection, const message::TableName& table,
                                    Deadline deadline);

// Every outbox table of this database.
Result<std::vector<std::string>> ReadTables(Connection& connection, Deadline deadline);

// kSchema when the database takes any bytes for text (SQL_ASCII): one row that is not UTF-8 would
// make every statement fail that reads it, and with them all that wait behind it.
Status RequireEncoding(Connection& connection, Deadline deadline);

// kNotFound   the table does not exist
// kSchema     it exists but is not an outbox table, or of an older or newer version; or
//             RequireEncoding
// kPermission this role lacks one of the rights of `access`; or, with more than kRead,
//             RequireAllRows
Status RequireTable(Connection& connection, const message::TableName& table, Access access,
                    Deadline deadline);

// kPermission when row level security hides rows from this role: a relay would find nothing to do,
// and say nothing. For a table that RequireTable has found good.
Status RequireAllRows(Connection& connection, const message::TableName& table, Deadline deadline);

// The newest migration this program has.
int LatestVersion() noexcept;

}  // namespace outbox::store::postgres
