// InspectStore on SQLite. Opened by Backend::OpenInspect.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "store/inspect_store.h"

namespace outbox::store::sqlite {

// How much work the counts of a table are: some ten milliseconds.
struct StatsLimits {
  std::int64_t counted = 10'000;  // rows of each kind that are counted; above it they are estimated
  std::int64_t runs = 200;        // of fifty sequence numbers, read for an estimate
  std::int64_t runs_closer = 400;  // the same, where few rows of the first were live
};

// kNotFound, kSchema, kInvalidArgument. A read-only database can be opened; its repairs fail.
Result<std::unique_ptr<InspectStore>> OpenInspectStore(const std::string& path,
                                                       const std::string& table, Deadline deadline,
                                                       StatsLimits limits = {});

}  // namespace outbox::store::sqlite
