// LineWriter: a batch of messages as JSON lines into a file descriptor.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "outbox/deadline.h"
#include "outbox/message.h"
#include "outbox/status.h"

namespace outbox::sink {

// Used by one thread at a time.
class LineWriter {
 public:
  // `for_terminal`: lines are written with what a terminal obeys escaped, equal in value.
  explicit LineWriter(bool for_terminal = false) noexcept : for_terminal_(for_terminal) {}

  struct Written {
    std::size_t lines = 0;       // whole lines that the descriptor has taken
    std::size_t torn_bytes = 0;  // of the line behind these, which was cut off
    Status status;               // why not all; kDeadline when nobody reads at the other end
  };

  // Writes the whole batch: to a file with one write(2), or as many as the descriptor makes of it;
  // to anything else, where a large write would wait for its reader past the deadline, in pieces.
  // `name` is the destination, for errors. A line cut off by a failure is ended before the next
  // batch, unless set_torn(false) says that it is gone.
  Written Write(int fd, std::string_view name, std::span<const Message> batch, Deadline deadline);

  // Whether the destination ends in the middle of a line: then the next batch starts a new one.
  void set_torn(bool torn) noexcept { torn_ = torn; }

 private:
  const bool for_terminal_;
  bool torn_ = false;
};

// "writing to out.jsonl: No space left on device", and whether it is worth waiting for: everything
// that can go wrong with a file is its state and not a message's fault, so it is a sink down.
Status ClassifyFileError(std::string_view doing, std::string_view name, int error);

// A call of before, which nobody waits for any more, still hangs in the operating system and has
// the descriptor.
Status StillBusy(std::string_view name);

}  // namespace outbox::sink
