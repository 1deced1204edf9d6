// Failpoints: named places where a test may make the process die, as a power cut would.
//
// OUTBOX_FAILPOINT=after_publish:3 ends the process with _exit(137), flushing nothing, the third
// time it comes by that place. Without the variable a failpoint costs one comparison.
//
// The places: after_claim, after_publish, mid_settle (PostgreSQL: the statement is sent, its answer
// not read; SQLite: before the COMMIT) and after_settle.
#pragma once

#include <string_view>

namespace outbox::base {

// Any thread.
void Failpoint(std::string_view name);

}  // namespace outbox::base
