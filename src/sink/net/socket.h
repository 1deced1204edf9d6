// Socket: a non-blocking TCP socket and the waiting for it.
#pragma once

#include <utility>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "sink/net/resolve.h"

namespace outbox::sink {

// Owns the descriptor. Used by one thread at a time.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) noexcept : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();

  // Keep-alive is on, Nagle's delay off. The error says what failed and leaves the peer's name to
  // the caller.
  static Result<Socket> Connect(const Address& address, Deadline deadline);

  int fd() const noexcept { return fd_; }
  // POLLIN or POLLOUT. False when the deadline has passed first.
  bool Wait(short events, Deadline deadline) const;
  // The peer has closed or reset the connection.
  bool HungUp() const;

 private:
  int fd_ = -1;
};

}  // namespace outbox::sink
