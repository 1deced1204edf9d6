// What may be a subject and a header of a NATS message. The server does not check: a bad subject
// would never match a stream, and a line break in a header would end it.
#pragma once

#include <string>
#include <string_view>

#include "outbox/message.h"
#include "outbox/status.h"

namespace outbox::sink {

// Tokens between dots, none empty, without blanks, control characters and wildcards. Subjects of
// the server's own ($JS., $SYS., _INBOX.) are refused: a message must not be able to command it.
Status CheckSubject(std::string_view subject);

// A blank or a control character.
bool HasBlank(std::string_view text) noexcept;

// A name is printable ASCII without ':'; a value has no line breaks.
Status CheckHeader(std::string_view name, std::string_view value);

// Headers beginning with "Nats-" are orders to the server (expectations, rollups); a producer's are
// left out.
bool IsServerHeader(std::string_view name) noexcept;

}  // namespace outbox::sink
