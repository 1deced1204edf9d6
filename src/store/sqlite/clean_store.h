// CleanStore on SQLite. Opened by Backend::OpenClean.
#pragma once

#include <memory>
#include <string>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "store/clean_store.h"

namespace outbox::store::sqlite {

// kNotFound, kSchema, kInvalidArgument.
Result<std::unique_ptr<CleanStore>> OpenCleanStore(const std::string& path,
                                                   const std::string& table, Deadline deadline);

}  // namespace outbox::store::sqlite
