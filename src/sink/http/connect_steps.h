// How curl came by a connection, in steps and from the times that it keeps itself: a connection of
// our own, to measure, might go where the guard does not let it.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <optional>

#include "outbox/status.h"
#include "sink/http/options.h"

namespace outbox::sink {

// While curl is connected and has sent nothing yet. A connection that is used again has no steps.
void TellConnected(CURL* easy, const HttpOptions& options);

// After a transfer that failed without getting so far: the steps that went well and the one that
// did not. `tls_began` is when the handshake did, since the start: curl keeps no time of a
// connection whose handshake fails.
void TellNotConnected(CURL* easy, const HttpOptions& options,
                      std::optional<std::chrono::nanoseconds> tls_began, const Status& status);

}  // namespace outbox::sink
