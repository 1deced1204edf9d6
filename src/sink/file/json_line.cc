#include "sink/file/json_line.h"

#include <algorithm>

#include "base/json_object.h"
#include "base/text.h"
#include "message/headers_json.h"

namespace outbox::sink {
namespace {

std::string OnOneLine(std::string json) {
  std::replace_if(
      json.begin(), json.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return json;
}

}  // namespace

void AppendJsonLine(const Message& message, std::string& out) {
  base::JsonObject line;
  line.Add("id", message.id.ToString())
      .Add("seq", message.seq)
      .Add("table", message.table)
      .AddUnlessEmpty("namespace", message.name_space)
      .Add("topic", message.topic)
      .AddUnlessEmpty("key", message.key)
      .AddUnlessEmpty("tenant_id", message.tenant_id ? message.tenant_id->ToString() : "")
      .AddUnlessEmpty("event_type", message.event_type)
      .Add("event_version", message.event_version)
      .AddUnlessEmpty("aggregate_type", message.aggregate_type)
      .AddUnlessEmpty("aggregate_id", message.aggregate_id)
      .AddUnlessEmpty("dedupe_key", message.dedupe_key)
      .Add("attempt", message.attempt)
      .Add("created_at", base::FormatTimestamp(message.created_at));
  if (!message.headers.empty()) line.AddRaw("headers", message::HeadersToJson(message.headers));
  line.AddRaw("payload", OnOneLine(message.payload));
  out += line.Finish();
  out += '\n';
}

bool IsStartOfJsonLine(std::string_view text) noexcept {
  constexpr std::string_view kBefore = R"({"id":")";
  constexpr std::size_t kIdBytes = 36;
  constexpr std::string_view kAfter = R"(","seq":)";
  return text.starts_with(kBefore) &&
         text.substr(std::min(text.size(), kBefore.size() + kIdBytes)).starts_with(kAfter) &&
         Uuid::Parse(text.substr(kBefore.size(), kIdBytes)).has_value();
}

}  // namespace outbox::sink
