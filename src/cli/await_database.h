// AwaitDatabase: a long-running command may be started before its database.
#pragma once

#include <chrono>
#include <string>

#include "cli/signals.h"
#include "log/logger.h"
#include "outbox/status.h"

namespace outbox::cli {

// Returns once the database answers. While it is away it is asked again, as a relay asks for
// its database (relay.reconnect_max), and the log says why; after `wait` that is the failure. What
// waiting can not mend (the address, the password, the name of the database) fails at once.
//
// A signal to stop ends the process with 0, even while a connection is being made. So call it on
// the main thread, and before anything is started that must be stopped.
Status AwaitDatabase(const std::string& address, std::chrono::milliseconds wait,
                     std::chrono::milliseconds reconnect_max, const StopSignals& signals,
                     const log::Logger& logger);

}  // namespace outbox::cli
