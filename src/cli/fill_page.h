// FillPage: one page of a list, by as many calls of the store as it takes, and no more than answer
// within a second.
//
// A call looks at a bounded number of rows (ListPage). Where a filter leaves few of them, a page
// takes many calls: of a backlog of millions it would take all of it. After kPartsMax calls the
// page is given as it stands, with the position to go on from.
#pragma once

#include "outbox/deadline.h"
#include "store/inspect_store.h"

namespace outbox::cli {

// Some ten milliseconds each.
inline constexpr int kPartsMax = 30;

struct FilledPage {
  store::ListPage page;
  bool whole = true;  // false: kPartsMax calls did not fill the page, and there is more to look at
};

Result<FilledPage> FillPage(store::InspectStore& store, const store::Scope& scope,
                            store::ListFilter filter, Deadline deadline);

}  // namespace outbox::cli
