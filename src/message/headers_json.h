// Headers as the databases keep them: one JSON object of strings.
#pragma once

#include <string>
#include <string_view>

#include "outbox/message.h"
#include "outbox/status.h"

namespace outbox::message {

// The headers of a new message, trace context included; empty when there are none.
std::string HeadersToJson(const NewMessage& message);
std::string HeadersToJson(const Headers& headers);

// The other way. Values that are not strings (written by other tools) keep their JSON text; text
// that is not a JSON object gives no headers.
Headers HeadersFromJson(std::string_view json);

}  // namespace outbox::message
