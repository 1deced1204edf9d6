// A message as a stranger writes it: a line of `outboxd enqueue`, the body of POST …/messages.
//
// Beyond not crashing: what is accepted has the payload as it was written, and means the same to
// another JSON parser; what enqueue then lets through is one JSON value and nothing behind it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "message/message_line.h"
#include "message/validate.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const auto message = outbox::message::ParseMessageLine(line);
  if (!message.ok()) return 0;
  const auto parsed = nlohmann::json::parse(line, nullptr, false);
  Require(parsed.is_object() && line.find(message->payload) != std::string_view::npos);
  Require(parsed.at("topic") == message->topic);
  if (!outbox::message::Validate(*message, {}).ok()) return 0;
  Require(message->payload.find('\0') == std::string_view::npos);
  Require(parsed.at("payload") == nlohmann::json::parse(message->payload));
  return 0;
}
