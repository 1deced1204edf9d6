// The last line of a file: where it begins, whether it is finished, and whether a sink wrote it.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "outbox/status.h"

namespace outbox::sink {

struct LastLine {
  off_t start = 0;
  bool ended = true;  // by a line break, or there is no line
  bool ours = false;  // it begins as those that `file:` writes do
};

// Reads back from `size`, which is not 0. A line that is very long is not ours. Fails with
// kSinkDown.
Result<LastLine> ReadLastLine(int fd, off_t size, std::string_view name);

}  // namespace outbox::sink
