// HidePayload: texts about a message that must not tell what is in it.
#pragma once

#include <string>
#include <string_view>

namespace outbox::message {

// `text` with the payload, and passages of 48 bytes or more of it, replaced by "[payload]":
// handlers and servers like to quote what they got, as it was or inside a JSON string, and texts
// are cut in the middle of it. Shorter passages are names and ids, which an error must be able to
// mention.
std::string HidePayload(std::string text, std::string_view payload);

}  // namespace outbox::message
