// Listener: a loopback port of its own, which takes connections as far as the kernel does. For
// servers that a test writes itself, and for one that never says a word.
//
// Threads: one accepts, another may shut down.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

namespace outbox::testing {

class Listener {
 public:
  // What connections buffer before somebody reads; 0: as usual.
  explicit Listener(int receive_buffer_bytes = 0)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer_bytes > 0) {
      setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof(receive_buffer_bytes));
    }
    sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(fd_, generic, size) != 0 || listen(fd_, 64) != 0 ||
        getsockname(fd_, generic, &size) != 0) {
      std::abort();
    }
    port_ = ntohs(address.sin_port);
  }
  ~Listener() { close(fd_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int port() const { return port_; }
  // The next connection, or -1 after Shutdown.
  int Accept() const { return accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC); }
  void Shutdown() const { shutdown(fd_, SHUT_RDWR); }

 private:
  const int fd_;
  int port_ = 0;
};

}  // namespace outbox::testing
