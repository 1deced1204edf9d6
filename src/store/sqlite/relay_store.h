// The two relay stores on SQLite.
//
// A lease claim is a short write transaction; publishing happens outside any transaction, and
// several relays and producers share the file. A transaction claim keeps the database's only write
// lock from claim to settle: a crash frees its rows at once, but no producer can commit meanwhile.
// Use it with fast sinks only.
//
// Connections: one for claims, one for settling (lease claims), one for looking, one for the watch;
// so that no two threads share one.
#pragma once

#include <memory>
#include <string>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "store/relay_store.h"

namespace outbox::store::sqlite {

// kNotFound, kSchema, kPermission (read-only file), kInvalidArgument (table name, topic pattern).
Result<std::unique_ptr<RelayStore>> OpenRelayStore(const std::string& path,
                                                   const RelayStoreOptions& options,
                                                   Deadline deadline);

}  // namespace outbox::store::sqlite
