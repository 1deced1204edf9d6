#include "sink/net/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

namespace outbox::sink {
namespace {

Status Failed(int error) { return Status::SinkDown(std::generic_category().message(error)); }

void Enable(int fd, int level, int option) {
  const int on = 1;
  (void)setsockopt(fd, level, option, &on, sizeof on);
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Result<Socket> Socket::Connect(const Address& address, Deadline deadline) {
  Socket socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.fd() < 0) return Failed(errno);
  Enable(socket.fd(), IPPROTO_TCP, TCP_NODELAY);
  Enable(socket.fd(), SOL_SOCKET, SO_KEEPALIVE);
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address.storage);
  if (connect(socket.fd(), generic, address.length) == 0) return socket;
  if (errno != EINPROGRESS && errno != EINTR) return Failed(errno);
  if (!socket.Wait(POLLOUT, deadline)) {
    return Status(Code::kDeadline, Disposition::kSinkDown, "no answer in time");
  }
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  if (error != 0) return Failed(error);
  return socket;
}

bool Socket::Wait(short events, Deadline deadline) const {
  pollfd waiting{.fd = fd_, .events = events, .revents = 0};
  int ready = 0;
  do {
    const auto left = std::min<std::chrono::milliseconds::rep>(deadline.remaining().count(),
                                                               std::numeric_limits<int>::max());
    ready = poll(&waiting, 1, static_cast<int>(left));
  } while (ready < 0 && errno == EINTR);
  return ready != 0;
}

bool Socket::HungUp() const {
  pollfd now{.fd = fd_, .events = POLLRDHUP, .revents = 0};
  return poll(&now, 1, 0) > 0;
}

}  // namespace outbox::sink
