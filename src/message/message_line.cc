#include "message/message_line.h"

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "message/headers_json.h"

namespace outbox::message {
namespace {

using base::StrCat;
using Json = nlohmann::json;

// The end of the JSON value that starts at `at`; `text` is known to be valid JSON.
std::size_t SkipValue(std::string_view text, std::size_t at) {
  int depth = 0;
  bool in_string = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (depth == 0 && (c == ',' || c == '}')) {
      break;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return at;
}

// The members of an object with their values as they are written. A JSON library would hand out the
// payload parsed, and write its numbers and spaces differently from how they came.
std::vector<std::pair<std::string, std::string_view>> Members(std::string_view object) {
  std::vector<std::pair<std::string, std::string_view>> members;
  std::size_t at = object.find('{') + 1;
  while (true) {
    const std::size_t name_begin = object.find('"', at);
    if (name_begin == std::string_view::npos) return members;
    std::size_t name_end = name_begin + 1;
    while (object[name_end] != '"') name_end += object[name_end] == '\\' ? 2 : 1;
    const std::size_t colon = object.find(':', name_end);
    const std::size_t end = SkipValue(object, colon + 1);
    members.emplace_back(Json::parse(object.substr(name_begin, name_end + 1 - name_begin)),
                         base::Trim(object.substr(colon + 1, end - colon - 1)));
    at = end + 1;
    if (end >= object.size() || object[end] == '}') return members;
  }
}

Status Wrong(std::string_view name, std::string_view expected) {
  return Status::Invalid(StrCat(name, ": is not ", expected));
}

using Setter = std::function<Status(NewMessage&, std::string_view name, std::string_view raw)>;

Setter Text(std::string NewMessage::*field) {
  return [field](NewMessage& message, std::string_view name, std::string_view raw) {
    const Json value = Json::parse(raw);
    if (!value.is_string()) return Wrong(name, "a string");
    message.*field = value.get<std::string>();
    return Status::Ok();
  };
}

Setter Id(std::optional<Uuid> NewMessage::*field) {
  return [field](NewMessage& message, std::string_view name, std::string_view raw) {
    const Json value = Json::parse(raw);
    message.*field = value.is_string() ? Uuid::Parse(value.get<std::string>()) : std::nullopt;
    return message.*field ? Status::Ok() : Wrong(name, "a UUID");
  };
}

Status SetPayload(NewMessage& message, std::string_view, std::string_view raw) {
  message.payload = raw;
  return Status::Ok();
}

// What is meant by two would be a guess.
std::optional<std::string> FindTwice(
    const std::vector<std::pair<std::string, std::string_view>>& members) {
  std::set<std::string_view> seen;
  for (const auto& [name, raw] : members) {
    if (!seen.insert(name).second) return name;
  }
  return std::nullopt;
}

Status SetHeaders(NewMessage& message, std::string_view name, std::string_view raw) {
  const Json value = Json::parse(raw);
  if (!value.is_object()) return Wrong(name, "an object of strings");
  for (const auto& element : value) {
    if (!element.is_string()) return Wrong(name, "an object of strings");
  }
  if (const auto twice = FindTwice(Members(raw))) {
    return Status::Invalid(StrCat(name, ": '", base::CleanError(*twice, 64), "' is given twice"));
  }
  message.headers = HeadersFromJson(raw);
  return Status::Ok();
}

Status SetVersion(NewMessage& message, std::string_view name, std::string_view raw) {
  const Json value = Json::parse(raw);
  constexpr int kVersionMax = 1'000'000;
  if (!value.is_number_integer() || value < 1 || value > kVersionMax) {
    return Wrong(name, "a whole number from 1");
  }
  message.event_version = value.get<int>();
  return Status::Ok();
}

Status SetDelay(NewMessage& message, std::string_view name, std::string_view raw) {
  const Json value = Json::parse(raw);
  if (!value.is_string()) return Wrong(name, "a duration such as \"5s\"");
  const auto delay = base::ParseDuration(value.get<std::string>());
  if (!delay.ok()) return Wrong(name, "a duration such as \"5s\"");
  message.delay = *delay;
  return Status::Ok();
}

Status SetAvailableAt(NewMessage& message, std::string_view name, std::string_view raw) {
  const Json value = Json::parse(raw);
  message.available_at =
      value.is_string() ? base::ParseTimestamp(value.get<std::string>()) : std::nullopt;
  return message.available_at ? Status::Ok()
                              : Wrong(name, "a time such as \"2026-01-05T00:00:00Z\"");
}

using SetterByName = std::map<std::string, Setter, std::less<>>;

const SetterByName& Setters() {
  static const SetterByName& kSetters = *new SetterByName{
      {"topic", Text(&NewMessage::topic)},
      {"payload", SetPayload},
      {"id", Id(&NewMessage::id)},
      {"namespace", Text(&NewMessage::name_space)},
      {"event_type", Text(&NewMessage::event_type)},
      {"event_version", SetVersion},
      {"aggregate_type", Text(&NewMessage::aggregate_type)},
      {"aggregate_id", Text(&NewMessage::aggregate_id)},
      {"key", Text(&NewMessage::key)},
      {"tenant_id", Id(&NewMessage::tenant_id)},
      {"dedupe_key", Text(&NewMessage::dedupe_key)},
      {"headers", SetHeaders},
      {"traceparent", Text(&NewMessage::traceparent)},
      {"tracestate", Text(&NewMessage::tracestate)},
      {"delay", SetDelay},
      {"available_at", SetAvailableAt},
  };
  return kSetters;
}

Status UnknownMember(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [member, setter] : Setters()) known.push_back(member);
  const std::string_view nearest = base::Nearest(name, known);
  return Status::Invalid(StrCat("'", base::CleanError(name, 64), "' is not a field of a message",
                                nearest.empty() ? "" : StrCat("; did you mean '", nearest, "'?")));
}

}  // namespace

Result<NewMessage> ParseMessageLine(std::string_view line) {
  // The parser takes a zero byte for the end of the text, which goes on.
  if (line.find('\0') != std::string_view::npos || !Json::accept(line)) {
    return Status::Invalid("is not valid JSON")
        .WithHint(
            "write one JSON object in UTF-8, its numbers below 1.8e308 and its surrogates "
            "(\\ud83d\\ude00) in pairs");
  }
  if (base::Trim(line).front() != '{') return Status::Invalid("is not a JSON object");
  NewMessage message;
  const auto members = Members(line);
  for (const auto& [name, raw] : members) {
    if (Setters().find(name) == Setters().end()) return UnknownMember(name);
  }
  if (const auto twice = FindTwice(members)) {
    return Status::Invalid(StrCat(*twice, ": is given twice"));
  }
  for (const auto& [name, raw] : members) {
    const auto setter = Setters().find(name);
    if (raw == "null" && name != "payload") continue;
    OUTBOX_RETURN_IF_ERROR(setter->second(message, name, raw));
  }
  if (message.topic.empty()) return Status::Invalid("topic: is required");
  if (message.payload.empty()) return Status::Invalid("payload: is required");
  return message;
}

}  // namespace outbox::message
