// LineWriter: a batch of messages as JSON lines into a file descriptor, and one Status for each.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "outbox/deadline.h"
#include "outbox/message.h"
#include "outbox/status.h"

namespace outbox::sink {

// Used by one thread at a time.
class LineWriter {
 public:
  struct Written {
    std::size_t lines = 0;  // whole lines that the descriptor has taken
    Status status;          // why not all of them
  };

  // Writes the whole batch with one write(2), or as many as the descriptor makes of it. `name` is
  // the destination, for errors. A line cut off by a failure is ended before the next batch.
  Written Write(int fd, std::string_view name, std::span<const Message> batch, Deadline deadline);

  // The destination ends in the middle of a line: start the next batch on a new one.
  void set_torn(bool torn) noexcept { torn_ = torn; }

 private:
  std::string buffer_;  // kept for its capacity
  std::vector<std::size_t> line_ends_;
  bool torn_ = false;
};

// "writing to out.jsonl: No space left on device", and whether it is worth waiting for: everything
// that can go wrong with a file is its state and not a message's fault, so it is a sink down.
Status ClassifyFileError(std::string_view doing, std::string_view name, int error);

}  // namespace outbox::sink
