// Tables as SQLite knows them: names, the SQL that belongs to one, and its rows.
#pragma once

#include <string>
#include <string_view>

#include "message/table_name.h"
#include "outbox/message.h"
#include "outbox/status.h"
#include "store/inspect_store.h"
#include "store/sqlite/query.h"

namespace outbox::store::sqlite {

// "orders_outbox" or "main.orders_outbox"; other schemas (attached databases) are refused.
Result<message::TableName> ParseTable(std::string_view text);

// A query of sql/sqlite/queries for this table. Besides TableName's placeholders it replaces
// {{now}} by SQLite's clock in whole milliseconds since 1970, which is one value throughout a
// statement.
std::string Render(const message::TableName& table, std::string_view sql);
// A query that names no outbox table.
std::string Render(std::string_view sql);

// Reads the columns seq … available_at, as claim.sql returns them.
inline constexpr int kMessageColumns = 16;
Message ReadMessage(const Query& row, const message::TableName& table);
// The same and the delivery state, as get_message.sql returns them.
StoredMessage ReadStored(const Query& row, const message::TableName& table);
// A row of list_deliveries.sql, and of list_attempts.sql.
Delivery ReadDelivery(const Query& row);
Attempt ReadAttempt(const Query& row);

}  // namespace outbox::store::sqlite
