// ControlStore on SQLite, and the audit of repairs. Opened by Backend::OpenControl.
#pragma once

#include <memory>
#include <string>

#include "outbox/status.h"
#include "store/control_store.h"
#include "store/sqlite/connection.h"

namespace outbox::store::sqlite {

// Opens the file at the first call.
std::unique_ptr<ControlStore> OpenControlStore(const std::string& path);

// Writes the record of a change in the transaction that is open on the connection.
Status RecordAudit(Connection& connection, const AuditRecord& record);

}  // namespace outbox::store::sqlite
