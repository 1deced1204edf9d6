// EstimateStats: turns counts that stopped at their limit into estimates, from samples of the
// table.
//
// A sample looks at parts of the table (pages, or runs of sequence numbers) that are evenly spaced,
// so it is right about rows that stand together as well as about rows that are scattered, and owes
// nothing to statistics that may be old. Where few of the rows it saw are live, a second, closer
// look goes to the stretch of the table where it saw them: a backlog of some thousands among
// millions of delivered rows is usually such a stretch.
//
// Threads: none of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "outbox/status.h"
#include "store/inspect_store.h"

namespace outbox::store {

// Which stretch of the table to look at, in parts; without bounds all of it.
struct SampleRange {
  std::optional<std::int64_t> from;
  std::optional<std::int64_t> until;
  bool closer = false;  // read more parts than the first look does
};

struct StatsSample {
  std::int64_t parts = 0;       // in the stretch
  std::int64_t parts_read = 0;  // of those
  std::int64_t step = 1;        // at most so many parts lie between two that were read
  // Rows in the parts that were read. Live ones that had been counted before are left out.
  TableStats rows;
  // The first and the last part with a live row; nothing where there is none, or it is not known.
  std::optional<std::int64_t> first_live;
  std::optional<std::int64_t> last_live;
};

using LookAtSample = std::function<Result<StatsSample>(const SampleRange&)>;

// `counted` has the counts and the flags of those that stopped. Looks once or twice, or not at all
// when no flag is set. An estimate is never below the count it started from.
Result<TableStats> EstimateStats(TableStats counted, const LookAtSample& look);

// The first look is enough when it saw this many live rows: their share is then known within a few
// per cent, also where they stand a dozen to a page.
inline constexpr std::int64_t kLiveRowsEnough = 2'000;

}  // namespace outbox::store
