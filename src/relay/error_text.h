// ErrorText: a failure as last_error and logs may show it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "outbox/message.h"
#include "outbox/status.h"

namespace outbox::relay {

// The failure's text, at most `bytes_max` bytes, without secrets and without the payload: passages
// that it shares with the payload are replaced, since handlers like to quote what they got. A text
// that repeats the payload in another form (message/payload_echo.h) is left out as a whole.
std::string ErrorText(const Status& failure, const Message& message, std::size_t bytes_max);

// Does the same to the failures among `results`, one for each of `messages`. Each text may repeat
// any of them: messages of a call travel together, and may be of several tenants.
void CleanFailures(std::span<const Message> messages, std::span<Status> results,
                   std::size_t bytes_max);

}  // namespace outbox::relay
