// Producers: clients that repeat one transaction each, side by side, as applications do.
#pragma once

#include <cstddef>
#include <functional>

#include "outbox/message.h"
#include "outbox/status.h"

namespace outbox::bench {

// The message that every producer enqueues, with about 350 bytes of JSON.
NewMessage OrderCreated();

// Runs `transact(client)` for each client on a thread of its own, again and again. Returns the
// transactions per second of all clients together after a warm-up, or the first failure.
Result<double> TransactionRate(std::size_t clients,
                               const std::function<Status(std::size_t client)>& transact);

}  // namespace outbox::bench
