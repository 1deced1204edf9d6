// The line that `stdout:` and `file:` write for a message: one JSON object, fields without a value
// left out, the payload last and spliced in as it was enqueued.
#pragma once

#include <string>
#include <string_view>

#include "outbox/message.h"

namespace outbox::sink {

// Appends the object and a newline. Line breaks between the tokens of a payload become spaces
// (inside its strings JSON has them escaped), so that a message is always exactly one line.
void AppendJsonLine(const Message& message, std::string& out);

// Whether `text` begins as such a line does: with the id and the seq.
bool IsStartOfJsonLine(std::string_view text) noexcept;

}  // namespace outbox::sink
