// Small files that hold keys.
#pragma once

#include <cstddef>
#include <string>

#include "outbox/status.h"

namespace outbox::service {

// The whole of a regular file of at most `bytes_max`. The error names the path, never the content.
Result<std::string> ReadKeyFile(const std::string& path, std::size_t bytes_max);

}  // namespace outbox::service
