// What a command that takes something away needs first: a database on this machine, unless told
// otherwise, and somebody who agrees.
#pragma once

#include <string>

#include "outbox/status.h"
#include "store/backend.h"

namespace outbox::cli {

// kPermission for a database on another machine without `allow_remote` (--allow-remote) or
// OUTBOX_ALLOW_REMOTE=1.
Status RequireLocal(const store::Backend& backend, bool allow_remote);

// Asks "`change`?" unless `yes` (--yes). kCancelled when the answer is no; kInvalidArgument when
// nobody is there to ask, with `hint`.
Status AskFirst(const std::string& change, bool yes, const std::string& hint);

}  // namespace outbox::cli
