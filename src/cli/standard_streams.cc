#include "cli/standard_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <streambuf>
#include <string>
#include <system_error>

#include "base/text.h"
#include "cli/terminal.h"

namespace outbox::cli {
namespace {

constexpr std::size_t kHeldMax = std::size_t{64} << 10;

// What std::cout writes to. A terminal sees every line at once, others what fills a buffer.
class OutputBuffer final : public std::streambuf {
 public:
  OutputBuffer() : by_line_(IsTerminal(STDOUT_FILENO)) {}

  // Of the first write that failed; 0 when none did.
  int error() const noexcept { return error_; }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    const std::string_view added(text, static_cast<std::size_t>(size));
    held_ += added;
    const bool due = held_.size() >= kHeldMax || (by_line_ && added.find('\n') != added.npos);
    return due && !WriteHeld() ? 0 : size;
  }
  int_type overflow(int_type character) override {
    if (traits_type::eq_int_type(character, traits_type::eof())) return 0;
    const char text = traits_type::to_char_type(character);
    return xsputn(&text, 1) == 1 ? character : traits_type::eof();
  }
  int sync() override { return WriteHeld() ? 0 : -1; }

 private:
  bool WriteHeld() {
    std::string_view left = held_;
    while (!left.empty() && error_ == 0) {
      const ssize_t written = write(STDOUT_FILENO, left.data(), left.size());
      if (written >= 0) {
        left.remove_prefix(static_cast<std::size_t>(written));
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
    held_.clear();
    return error_ == 0;
  }

  const bool by_line_;
  std::string held_;
  int error_ = 0;
};

// Never destroyed: std::cout is flushed after main.
OutputBuffer& Output() {
  static OutputBuffer& output = *new OutputBuffer;
  return output;
}

Status StreamFailure(const char* stream, int error) {
  return Status::Permanent(
      Code::kUnavailable,
      base::StrCat(stream, ": ", std::generic_category().message(error == 0 ? EIO : error)));
}

}  // namespace

void TakeStandardStreams() {
  // open takes the lowest free number; the wrong direction makes every use of it fail.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) != -1) continue;
    if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) break;
  }
  std::cout.rdbuf(&Output());
}

bool ReaderGone() noexcept {
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

Status FlushOutput() {
  std::cout.flush();
  errno = 0;
  // The demo and the benchmarks write to stdout.
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  const int error = Output().error() != 0 ? Output().error() : errno;
  if ((written && Output().error() == 0) || error == EPIPE || ReaderGone()) return Status::Ok();
  return StreamFailure("standard output", error);
}

Status InputEnd() {
  const int error = errno;
  // std::cin takes a failure for the end.
  return std::ferror(stdin) == 0 ? Status::Ok() : StreamFailure("standard input", error);
}

}  // namespace outbox::cli
