// A message to enqueue, as the body of a request has it: one JSON object with the members of
// message/message_line.h.
#pragma once

#include <string_view>

#include "outbox/message.h"
#include "outbox/status.h"
#include "store/scope.h"

namespace outbox::service {

// In a tenant's scope the message is that tenant's; naming another is kInvalidArgument.
Result<NewMessage> ReadNewMessage(std::string_view body, const store::Scope& scope);

}  // namespace outbox::service
