// The other side of the drain comparison: our own statements in the barest program that can run
// them. Prepared, no objects made of the rows, no sink, no retries, no fencing errors.
#pragma once

#include <cstddef>

#include "bench/relay_run.h"
#include "bench/scratch.h"
#include "outbox/status.h"

namespace outbox::bench {

// Messages a second over libpq. On one connection it claims and settles in turn. On two, lease
// claims run on one while the other settles the batch before; transaction claims are two such loops
// side by side.
Result<double> BareRate(const Scratch& scratch, const DrainPlan& plan, std::size_t count,
                        int connections);

// The same over SQLite, which has one writer: one connection claims and settles in turn.
Result<double> BareRateSqlite(const Scratch& scratch, const DrainPlan& plan, std::size_t count);

}  // namespace outbox::bench
