// CapturedLog: a file descriptor to log to, and what has been written to it. For tests.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <string>

namespace outbox::log {

class CapturedLog {
 public:
  CapturedLog() {
    char name[] = "/tmp/outbox-log-XXXXXX";
    fd_ = mkstemp(name);
    unlink(name);
  }
  ~CapturedLog() { close(fd_); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  int fd() const { return fd_; }
  std::string text() const {
    std::string text(1 << 20, '\0');
    const ssize_t size = pread(fd_, text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
  }

 private:
  int fd_ = -1;
};

}  // namespace outbox::log
