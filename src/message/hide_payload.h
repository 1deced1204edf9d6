// HidePayload: texts about a message that must not tell what is in it.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "outbox/message.h"

namespace outbox::message {

// `text` with the payload, and passages of 48 bytes or more of it, replaced by "[payload]":
// handlers and servers like to quote what they got, as it was or inside a JSON string, and texts
// are cut in the middle of it. Shorter passages are names and ids, which an error must be able to
// mention.
std::string HidePayload(std::string text, std::string_view payload);

// What stands in the place of a text that repeats a payload in a way that HidePayload cannot take
// out of it: in other escapes, with other white space, or another message's.
inline constexpr std::string_view kRepeatsPayload = "a text that repeats a payload is not kept";

// What a text about `message` may mention although payloads have it too: topic, key and types.
std::array<std::string_view, 5> KnownWords(const Message& message);

// `text` about one of `messages` for readers who may know none of them.
std::string HidePayloads(std::string text, std::span<const Message> messages);

}  // namespace outbox::message
