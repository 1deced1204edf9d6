#include "message/headers_json.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace outbox::message {
namespace {

void AppendMember(std::string& json, std::string_view name, std::string_view value) {
  json += json.empty() ? '{' : ',';
  json += base::JsonQuote(name);
  json += ':';
  json += base::JsonQuote(value);
}

}  // namespace

std::string HeadersToJson(const Headers& headers) {
  std::string json;
  for (const auto& [name, value] : headers) AppendMember(json, name, value);
  if (!json.empty()) json += '}';
  return json;
}

std::string HeadersToJson(const NewMessage& message) {
  std::string json;
  for (const auto& [name, value] : message.headers) AppendMember(json, name, value);
  if (!message.traceparent.empty()) AppendMember(json, kTraceparentHeader, message.traceparent);
  if (!message.tracestate.empty()) AppendMember(json, kTracestateHeader, message.tracestate);
  if (!json.empty()) json += '}';
  return json;
}

Headers HeadersFromJson(std::string_view json) {
  Headers headers;
  if (json.empty()) return headers;
  const auto parsed = nlohmann::ordered_json::parse(json, nullptr, false);
  if (!parsed.is_object()) return headers;
  for (const auto& [name, value] : parsed.items()) {
    headers.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return headers;
}

}  // namespace outbox::message
