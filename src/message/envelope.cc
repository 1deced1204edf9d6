#include "message/envelope.h"

#include "base/json_object.h"
#include "base/text.h"
#include "message/headers_json.h"

namespace outbox::message {
namespace {

std::string Enveloped(const Message& message) {
  base::JsonObject body;
  body.Add("messageId", message.id.ToString())
      .Add("topic", message.topic)
      .AddUnlessEmpty("eventType", message.event_type)
      .Add("eventVersion", message.event_version)
      .AddUnlessEmpty("aggregateType", message.aggregate_type)
      .AddUnlessEmpty("aggregateId", message.aggregate_id)
      .AddUnlessEmpty("key", message.key)
      .AddUnlessEmpty("tenantId", message.tenant_id ? message.tenant_id->ToString() : "")
      .Add("sequence", message.seq)
      .Add("attempt", message.attempt)
      .Add("createdAt", base::FormatTimestamp(message.created_at));
  if (!message.headers.empty()) body.AddRaw("headers", HeadersToJson(message.headers));
  return body.AddRaw("payload", message.payload).Finish();
}

std::string CloudEvent(const Message& message) {
  base::JsonObject event;
  for (const auto& [name, value] : CloudEventAttributes(message)) event.Add(name, value);
  return event.Add("datacontenttype", "application/json").AddRaw("data", message.payload).Finish();
}

}  // namespace

Headers CloudEventAttributes(const Message& message) {
  Headers attributes{
      {"specversion", "1.0"},
      {"id", message.id.ToString()},
      {"source", "/outbox/" + message.table},
      {"type", message.event_type.empty() ? message.topic : message.event_type},
      {"time", base::FormatTimestamp(message.created_at)},
  };
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) attributes.emplace_back(name, value);
  };
  // The subject is the thing it happened to; extension names are lower-case letters and digits.
  add("subject", message.aggregate_id);
  add("topic", message.topic);
  add("partitionkey", message.key);
  add("tenantid", message.tenant_id ? message.tenant_id->ToString() : "");
  add("sequence", std::to_string(message.seq));
  add("attempt", std::to_string(message.attempt));
  add("traceparent", message.Header(kTraceparentHeader));
  add("tracestate", message.Header(kTracestateHeader));
  return attributes;
}

std::string MakeBody(const Message& message, BodyFormat format) {
  switch (format) {
    case BodyFormat::kPlain: return message.payload;
    case BodyFormat::kEnvelope: return Enveloped(message);
    case BodyFormat::kCloudEvents: return CloudEvent(message);
  }
  return message.payload;
}

std::string_view ContentType(BodyFormat format) noexcept {
  return format == BodyFormat::kCloudEvents ? "application/cloudevents+json" : "application/json";
}

}  // namespace outbox::message
