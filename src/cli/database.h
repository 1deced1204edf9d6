// The database a command works on.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "store/backend.h"

namespace outbox::cli {

// How long one database call of a command may take.
Deadline CommandDeadline();

// The error says how to name a database when none is given.
Result<std::unique_ptr<store::Backend>> OpenDatabase(const std::string& address);

// The tables a command that only looks should look at: `table` if it is given, else all there are.
// kNotFound when there is none.
Result<std::vector<std::string>> TablesToLookAt(store::Backend& backend, const std::string& table);

// Opens one of these tables. Null for one that does not exist, unless it is the one that was asked
// for: a record of a table that was dropped or renamed hides no other table.
Result<std::unique_ptr<store::InspectStore>> OpenIfThere(store::Backend& backend,
                                                         const std::string& table,
                                                         const std::string& asked_for);

// What TablesToLookAt is to commands that look at one table: the only one there is.
// kInvalidArgument lists the tables when there are several.
Result<std::string> TableToLookAt(store::Backend& backend, const std::string& table);

}  // namespace outbox::cli
