// InspectStore on SQLite. Opened by Backend::OpenInspect.
#pragma once

#include <memory>
#include <string>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "store/inspect_store.h"

namespace outbox::store::sqlite {

// kNotFound, kSchema, kInvalidArgument. A read-only database can be opened; its repairs fail.
Result<std::unique_ptr<InspectStore>> OpenInspectStore(const std::string& path,
                                                       const std::string& table, Deadline deadline);

}  // namespace outbox::store::sqlite
