#include "cli/fill_page.h"

#include <iterator>
#include <utility>

namespace outbox::cli {

Result<FilledPage> FillPage(store::InspectStore& store, const store::Scope& scope,
                            store::ListFilter filter, Deadline deadline) {
  FilledPage filled;
  store::ListPage& page = filled.page;
  for (int part_number = 0; part_number < kPartsMax; ++part_number) {
    OUTBOX_ASSIGN_OR_RETURN(store::ListPage part, store.List(scope, filter, deadline));
    filter.limit -= part.rows.size();
    std::move(part.rows.begin(), part.rows.end(), std::back_inserter(page.rows));
    page.next = filter.after = part.next;
    if (filter.limit == 0 || page.next.empty()) return filled;
  }
  filled.whole = false;
  return filled;
}

}  // namespace outbox::cli
