// SendBatch: messages that travel in requests together.
//
// A request's body keeps within options.batch_bytes, as long as no single message is larger. A
// request that is refused for good is sent again as two halves, down to single messages: only those
// that the server refuses by themselves fail.
#pragma once

#include <span>

#include "outbox/deadline.h"
#include "outbox/message.h"
#include "outbox/status.h"
#include "sink/http/client.h"
#include "sink/http/options.h"

namespace outbox::sink {

// Writes one Status per message. A message that was refused together with others, and for which the
// time did not suffice to find out more, is to be retried.
void SendBatch(Client& client, const HttpOptions& options, std::span<const Message> batch,
               std::span<Status> results, Deadline deadline);

}  // namespace outbox::sink
