// Who an audit record names when a command changes something.
#pragma once

#include <string>

namespace outbox::cli {

// "user@host", by the operating system.
std::string OsActor();

}  // namespace outbox::cli
