// The SQLite backend: one database file, shared by any number of processes of one machine.
//
// WAL mode and synchronous=FULL: a commit that has returned survives a power loss. Only the schema
// "main" is used; Message::table is the bare table name.
#pragma once

#include <memory>
#include <string>

#include "outbox/status.h"
#include "store/backend.h"

namespace outbox::store {

// Looks at the path only; the file is opened by the first Open call, and created by no one but the
// migrator. kInvalidArgument for an empty path and for in-memory databases, which no relay could
// share with a producer.
Result<std::unique_ptr<Backend>> OpenSqlite(const std::string& path);

}  // namespace outbox::store
