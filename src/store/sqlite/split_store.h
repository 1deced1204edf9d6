// SplitStore on SQLite. Opened by Backend::OpenSplit. The write lock lets one process split at a
// time. Each lane has a connection of its own on which its claims are settled.
#pragma once

#include <memory>
#include <string>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "store/split_store.h"

namespace outbox::store::sqlite {

Result<std::unique_ptr<SplitStore>> OpenSplitStore(const std::string& path,
                                                   const SplitOptions& options, Deadline deadline);

}  // namespace outbox::store::sqlite
