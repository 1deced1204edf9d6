#include "tests/e2e/support/blocked_pipe.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace outbox::testing {

BlockedPipe::BlockedPipe(std::string path) : path_(std::move(path)) {
  mkfifo(path_.c_str(), 0666);
  fd_ = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  fcntl(fd_, F_SETPIPE_SZ, 4096);
}

BlockedPipe::~BlockedPipe() {
  close(fd_);
  unlink(path_.c_str());
}

bool BlockedPipe::Reached() const {
  int waiting = 0;
  return ioctl(fd_, FIONREAD, &waiting) == 0 && waiting > 0;
}

std::string BlockedPipe::Read() {
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(fd_, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace outbox::testing
