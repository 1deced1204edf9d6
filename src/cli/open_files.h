// Open files: how many a process needs, and whether it may have them.
//
// Connections of HTTP clients are accepted only as far as the relays, their sinks and the database
// have theirs: strangers cannot stop a delivery by holding sockets.
#pragma once

#include <cstddef>

#include "cli/checked_config.h"
#include "log/logger.h"
#include "outbox/status.h"

namespace outbox::cli {

// Of HTTP clients, at a time.
struct ConnectionRoom {
  std::size_t listen = 0;
  std::size_t admin = 0;
};

// Raises the limit of open files (RLIMIT_NOFILE) to what `checked` needs, as far as the system lets
// it; `serves`: the HTTP service runs too. Where that is not enough for all HTTP connections there
// are fewer, which the log tells. Where it is not enough to work, the error names the number that
// is.
Result<ConnectionRoom> ReserveFiles(const CheckedConfig& checked, bool serves,
                                    const log::Logger& logger);

}  // namespace outbox::cli
