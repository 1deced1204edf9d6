// ListQuery: the page of messages that a ListFilter asks for, by the index that serves it.
#pragma once

#include "message/table_name.h"
#include "outbox/status.h"
#include "store/inspect_store.h"
#include "store/sqlite/connection.h"

namespace outbox::store::sqlite {

// Looks at no more than a bounded number of rows: with a selective topic or key a page may come
// back short, even empty, and still have a `next`. kInvalidArgument for an `after` that is not
// ours.
Result<ListPage> ListMessages(Connection& connection, const message::TableName& table,
                              const ListFilter& filter);

}  // namespace outbox::store::sqlite
