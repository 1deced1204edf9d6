// The bodies a payload can travel in. In each of them the payload's own bytes are unchanged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "outbox/message.h"

namespace outbox::message {

enum class BodyFormat : std::uint8_t {
  kPlain,  // the payload alone; everything else is in the headers
  kEnvelope,  // {"messageId":…,"topic":…,…,"payload":…}: for buses whose consumers see no headers
  kCloudEvents,  // CloudEvents 1.0 structured mode, the payload as `data`
};

std::string MakeBody(const Message& message, BodyFormat format);
std::string_view ContentType(BodyFormat format) noexcept;

// The context attributes of a CloudEvent, for the structured and for the binary mode. `type` is the
// event type, or the topic when there is none; `source` names the table.
Headers CloudEventAttributes(const Message& message);

}  // namespace outbox::message
