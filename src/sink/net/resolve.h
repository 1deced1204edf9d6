// Resolve: the addresses of a host, by a deadline.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "sink/authority.h"

namespace outbox::sink {

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  std::string ToString() const;  // "192.0.2.1", "::1"
};

// Every address of the endpoint, in the order the system prefers; at least one. The system's
// resolver knows no deadline: when it is late, it is left behind on a thread of its own, which ends
// when the resolver gives up. Failures are kSinkDown.
Result<std::vector<Address>> Resolve(const Endpoint& endpoint, Deadline deadline);

}  // namespace outbox::sink
