// List query: which statement serves a ListFilter, with what parameters, and where a page ends.
#pragma once

#include <string>
#include <string_view>

#include "outbox/status.h"
#include "store/inspect_store.h"
#include "store/postgres/params.h"

namespace outbox::store::postgres {

struct ListQuery {
  std::string_view sql;
  Params params;  // asks for one row more than the page has, to know whether another page follows
};

// kInvalidArgument when `filter.after` is not from a page of the same kind of list.
Result<ListQuery> MakeListQuery(const ListFilter& filter);

// The opaque position after `last`, for ListPage::next.
std::string PositionAfter(const ListFilter& filter, const StoredMessage& last);

}  // namespace outbox::store::postgres
