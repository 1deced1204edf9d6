// Schema check: may this program use a table of that version? The same words on every database.
//
// `table` is the name as the program shows it. The hints are what a person does about it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "outbox/status.h"
#include "store/migrator.h"

namespace outbox::store {

// For who migrates: kSchema when the table is there but not ours, or of a newer version than this
// program knows.
Status RequireOurs(const TableSchema& schema, std::string_view table);

// For who uses it: the same, and kSchema when it is of an older version, or the database has pauses
// of one: a relay would run past them. A table that does not exist is the caller's to report.
Status RequireCurrent(const TableSchema& schema, std::string_view table);

// The version that a printed script leads to; kInvalidArgument when there is no such way.
Result<int> CheckRange(const PrintOptions& print, int latest);

// "run: outboxd migrate up --table …"
std::string MigrateHint(std::string_view table);

// For a table that does not exist: of those that do, the one that was meant, or what there is. Who
// misspelt a name should not create the table. One that is known and does not exist was removed
// behind our back. MigrateHint when none is known. `missing_schema`, unless it is empty, is to be
// created first.
std::string AbsentHint(std::string_view table, const Result<std::vector<std::string>>& known,
                       std::string_view missing_schema = "");

}  // namespace outbox::store
