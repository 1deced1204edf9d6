// OpenPostgres: PostgreSQL as a store::Backend.
#pragma once

#include <memory>
#include <string>

#include "outbox/status.h"
#include "store/backend.h"

namespace outbox::store::postgres {

// `dsn` is anything libpq takes, plus `prepare=off` for poolers we do not recognise. Parses only;
// the first connection is made by the first Open call. kInvalidArgument when it can not be parsed.
Result<std::unique_ptr<Backend>> OpenPostgres(const std::string& dsn);

}  // namespace outbox::store::postgres
