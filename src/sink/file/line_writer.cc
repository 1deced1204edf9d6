#include "sink/file/line_writer.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/text.h"
#include "sink/file/json_line.h"

namespace outbox::sink {
namespace {

// A buffer that one huge batch has grown is given back.
constexpr std::size_t kBufferKeptMax = std::size_t{8} << 20;

bool WaitWritable(int fd, Deadline deadline) {
  pollfd waiting{.fd = fd, .events = POLLOUT, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&waiting, 1, static_cast<int>(deadline.remaining().count()));
  } while (ready < 0 && errno == EINTR);
  return ready != 0;
}

std::string_view HintFor(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "free some space; delivery goes on by itself";
    case EPIPE: return "the reader has gone away";
    case EACCES:
    case EPERM:
    case EROFS: return "let this user write there";
    case ENOENT: return "create the folder first";
    case ENXIO: return "open the other end of the pipe for reading";
    default: return "";
  }
}

}  // namespace

Status ClassifyFileError(std::string_view doing, std::string_view name, int error) {
  Status status = Status::SinkDown(
      base::StrCat(doing, " ", name, ": ", std::generic_category().message(error)));
  return std::move(status).WithHint(std::string(HintFor(error)));
}

LineWriter::Written LineWriter::Write(int fd, std::string_view name, std::span<const Message> batch,
                                      Deadline deadline) {
  buffer_.clear();
  line_ends_.clear();
  if (torn_) buffer_ += '\n';
  for (const Message& message : batch) {
    AppendJsonLine(message, buffer_);
    line_ends_.push_back(buffer_.size());
  }

  Written result;
  std::size_t done = 0;
  while (done < buffer_.size()) {
    if (!WaitWritable(fd, deadline)) {
      result.status = Status::SinkDown(base::StrCat("writing to ", name, ": nobody reads it"));
      break;
    }
    const ssize_t taken = write(fd, buffer_.data() + done, buffer_.size() - done);
    if (taken >= 0) {
      done += static_cast<std::size_t>(taken);
    } else if (errno != EINTR && errno != EAGAIN) {
      result.status = ClassifyFileError("writing to", name, errno);
      break;
    }
  }
  result.lines = static_cast<std::size_t>(
      std::upper_bound(line_ends_.begin(), line_ends_.end(), done) - line_ends_.begin());
  if (done > 0) torn_ = buffer_[done - 1] != '\n';
  if (buffer_.capacity() > kBufferKeptMax) buffer_ = {};
  return result;
}

}  // namespace outbox::sink
