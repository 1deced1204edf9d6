// List query: the page of messages that a ListFilter asks for, by the index that serves it.
#pragma once

#include "message/table_name.h"
#include "outbox/status.h"
#include "store/inspect_store.h"
#include "store/sqlite/connection.h"

namespace outbox::store::sqlite {

// Both look at no more than a bounded number of rows: with a selective filter a page may come back
// short, even empty, and still have a `next`. kInvalidArgument for an `after` that is not ours.
Result<ListPage> ListMessages(Connection& connection, const message::TableName& table,
                              const Scope& scope, const ListFilter& filter);
// Page `number` of a tenant's messages.
Result<NumberedPage> ListNumberedMessages(Connection& connection, const message::TableName& table,
                                          const Scope& scope, const ListFilter& filter,
                                          std::size_t number);

}  // namespace outbox::store::sqlite
