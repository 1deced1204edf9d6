// ClassifyError: what an SQLite result code means for the caller, and what a person can do about
// it.
#pragma once

#include <string_view>

#include "outbox/status.h"

namespace outbox::store::sqlite {

// `code` is an extended result code other than SQLITE_OK, SQLITE_ROW and SQLITE_DONE; `path` names
// the database; `detail` is sqlite3_errmsg's text. Codes this program does not know by name are
// treated like their primary code.
Status ClassifyError(int code, std::string_view path, std::string_view detail);

// The same for a COMMIT. A failed write or sync leaves open whether the transaction is on disk:
// kInDoubt.
Status ClassifyCommitError(int code, std::string_view path, std::string_view detail);

// True when one of the rows that a statement changes may be to blame: a trigger or a check of the
// user's says no.
bool RefusesRow(const Status& status);

}  // namespace outbox::store::sqlite
