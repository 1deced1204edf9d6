// Session on SQLite. Opened by Backend::OpenSession.
#pragma once

#include <memory>
#include <string>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "store/backend.h"

namespace outbox::store::sqlite {

// Begin takes the write lock at once. Each call waits up to 30 s for another writer.
Result<std::unique_ptr<Session>> OpenSession(const std::string& path, Deadline deadline);

}  // namespace outbox::store::sqlite
