// List query: which statements serve a ListFilter, with what parameters, and where a page ends.
//
// Where rows have to be looked at one by one, a statement that reads the index alone is asked first
// for the place of the last row to look at: the list goes no further, and its next page starts
// there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "outbox/status.h"
#include "store/inspect_store.h"
#include "store/list_order.h"
#include "store/postgres/params.h"
#include "store/postgres/rows.h"

namespace outbox::store::postgres {

struct Query {
  std::string_view sql;
  Params params;
};

class ListQuery {
 public:
  // kInvalidArgument when `filter.after` is not from a page of the same kind of list.
  static Result<ListQuery> Make(const ListFilter& filter, const Scope& scope);

  // The statement for the place `rows` rows after the start, read by ReadPlace.
  Query Place(std::size_t rows) const;
  std::optional<ListPosition> ReadPlace(const Rows& rows) const;

  // Go no further than this place; start after this place.
  void set_end(const std::optional<ListPosition>& end) { end_ = end; }
  void set_start(const ListPosition& start) { start_ = start; }

  // The page, and one row more, to know whether another page follows; after `offset` rows (of a
  // tenant's list only).
  Query Page(std::size_t offset) const;
  // How many rows a tenant's list has, counted among the newest `rows`; and how many were counted
  // among.
  Query Count(std::size_t rows) const;

  // For ListPage::next: after `last`; or after the end, when all up to it was shown.
  std::string NextAfter(const StoredMessage& last) const;
  std::string NextAfterEnd() const;

 private:
  ListQuery(const ListFilter& filter, const Scope& scope);
  void AddFilter(Params& params) const;
  void AddDead(Params& params) const;
  Params PageParams(std::size_t offset) const;

  const ListFilter& filter_;
  const Scope& scope_;
  ListOrder order_;
  ListPosition start_;
  std::optional<ListPosition> end_;
};

}  // namespace outbox::store::postgres
