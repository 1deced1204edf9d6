// What an error reply of a Redis server means for delivery.
#pragma once

#include <string_view>

#include "outbox/status.h"

namespace outbox::sink {

// `reply` is the server's line without its leading '-': "WRONGTYPE Operation against …". `peer` is
// host:port. The state of the server, its credentials and its resources are a sink that is down,
// and so is a command that the user may not run. What the command met in its stream is the
// message's own failure, and so is a stream that the user has no right to.
Status ClassifyRedisError(std::string_view reply, std::string_view peer);

// The server could not read our command and hangs up: it has done nothing after it.
bool IsProtocolError(std::string_view reply) noexcept;

}  // namespace outbox::sink
