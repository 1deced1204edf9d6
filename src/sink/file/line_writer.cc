#include "sink/file/line_writer.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <limits>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "base/text.h"
#include "sink/file/json_line.h"

namespace outbox::sink {
namespace {

// What a descriptor that is ready takes without waiting.
std::size_t PieceFor(int fd) {
  struct stat info {};
  const bool file = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  return file ? std::numeric_limits<std::size_t>::max() : PIPE_BUF;
}

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

Status StillBusy(std::string_view name) {
  return Status::SinkDown(
      base::StrCat("writing to ", name, ": a call before this one still hangs"));
}

LineWriter::Written LineWriter::Write(int fd, std::string_view name, std::span<const Message> batch,
                                      Deadline deadline) {
  std::string buffer;
  std::vector<std::size_t> line_ends;
  line_ends.reserve(batch.size());
  if (torn_) buffer += '\n';
  for (const Message& message : batch) {
    if (for_terminal_) {
      std::string line;
      AppendJsonLine(message, line);
      buffer += base::HarmlessJson(line);
    } else {
      AppendJsonLine(message, buffer);
    }
    line_ends.push_back(buffer.size());
  }

  Written result;
  const std::size_t piece = PieceFor(fd);
  std::size_t done = 0;
  while (done < buffer.size()) {
    if (deadline.passed() || !WaitWritable(fd, deadline)) {
      result.status = Status(Code::kDeadline, Disposition::kSinkDown,
                             base::StrCat("writing to ", name, ": nobody reads it in time"));
      break;
    }
    const ssize_t taken = write(fd, buffer.data() + done, std::min(piece, buffer.size() - done));
    if (taken >= 0) {
      done += static_cast<std::size_t>(taken);
    } else if (errno != EINTR && errno != EAGAIN) {
      result.status = ClassifyFileError("writing to", name, errno);
      break;
    }
  }
  result.lines = static_cast<std::size_t>(
      std::upper_bound(line_ends.begin(), line_ends.end(), done) - line_ends.begin());
  if (done > 0) torn_ = buffer[done - 1] != '\n';
  if (torn_ && done > 0) {
    result.torn_bytes = done - (result.lines > 0 ? line_ends[result.lines - 1] : buffer.find('{'));
  }
  return result;
}

}  // namespace outbox::sink
