// The line that a NATS server greets with, in the clear: `INFO {"server_id":…}`. Only after it does
// TLS begin.
#pragma once

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "sink/net/stream.h"

namespace outbox::sink {

// Reads the greeting. OK when the server can go on under TLS.
Status AwaitTlsOffer(Stream& stream, Deadline deadline);

}  // namespace outbox::sink
