// NatsConnector: makes connections by a deadline.
//
// The client's TLS handshake knows none. Each attempt therefore runs on a thread of its own; one
// that is late is left behind, and ends when its server speaks or goes away. Until then its address
// is not tried again, so that no more than one attempt hangs for each.
//
// Threads: used by one at a time.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "sink/nats/connection.h"
#include "sink/nats/options.h"
#include "sink/net/resolve.h"

namespace outbox::sink {

// Attempts of all connectors that have not ended. Whoever wants the process to end cleanly waits
// for none. Any thread.
std::size_t NatsAttemptsUnderWay() noexcept;

class NatsConnector {
 public:
  explicit NatsConnector(std::shared_ptr<const NatsOptions> options)
      : options_(std::move(options)) {}

  // To the first endpoint that lets us in. Fails with the last endpoint's kSinkDown.
  Result<std::shared_ptr<NatsConnection>> Connect(Deadline deadline);

 private:
  struct Attempt;

  Result<std::shared_ptr<NatsConnection>> Try(const Endpoint& endpoint, const Address& address,
                                              Deadline deadline);

  const std::shared_ptr<const NatsOptions> options_;
  std::map<std::string, std::shared_ptr<Attempt>> late_;  // by endpoint and address
};

}  // namespace outbox::sink
