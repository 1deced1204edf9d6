// SendBatch: messages that travel in requests together, one request at a time.
//
// A request's body keeps within options.batch_bytes, as long as no single message is larger. A
// request that is refused is sent again as two halves, down to single messages: only those that
// the server refuses by themselves fail.
#pragma once

#include <span>

#include "outbox/deadline.h"
#include "outbox/message.h"
#include "outbox/status.h"
#include "sink/http/client.h"
#include "sink/http/options.h"

namespace outbox::sink {

// Writes one Status per message that was decided. Messages that the time did not suffice for, or
// that an outage came before, keep the result they had; when none was decided, all are kSinkDown.
void SendBatch(Client& client, const HttpOptions& options, std::span<const Message> batch,
               std::span<Status> results, Deadline deadline);

}  // namespace outbox::sink
