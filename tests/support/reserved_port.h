// ReservedPort: a TCP port of the test's own, also while nobody listens on it.
//
// It is bound and not listened on: connections are refused, and the kernel gives it neither to
// another server nor to a client. A server of the test's own gets it by its number, as often as it
// likes, since servers set SO_REUSEADDR.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace outbox::testing {

class ReservedPort {
 public:
  // On an address of this machine; port 0 is any that is free.
  explicit ReservedPort(const std::string& address = "127.0.0.1", int port = 0)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<std::uint16_t>(port));
    inet_pton(AF_INET, address.c_str(), &place.sin_addr);
    socklen_t size = sizeof place;
    auto* const generic = reinterpret_cast<sockaddr*>(&place);
    if (bind(fd_, generic, size) == 0 && getsockname(fd_, generic, &size) == 0) {
      number_ = ntohs(place.sin_port);
    }
  }
  ~ReservedPort() { close(fd_); }
  ReservedPort(const ReservedPort&) = delete;
  ReservedPort& operator=(const ReservedPort&) = delete;

  // 0 when somebody else has it.
  int number() const { return number_; }

 private:
  const int fd_;
  int number_ = 0;
};

}  // namespace outbox::testing
