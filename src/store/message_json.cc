#include "store/message_json.h"

#include "base/json_object.h"
#include "base/text.h"
#include "message/headers_json.h"

namespace outbox::store {
namespace {

std::string Text(const std::optional<Timestamp>& at) {
  return at ? base::FormatTimestamp(*at) : std::string();
}

std::string ToJson(const Delivery& delivery) {
  base::JsonObject json;
  json.Add("destination", delivery.destination)
      .Add("status", ToString(delivery.status))
      .Add("attempts", delivery.attempts)
      .AddUnlessEmpty("last_error", delivery.last_error)
      .Add("updated_at", base::FormatTimestamp(delivery.updated_at))
      .AddUnlessEmpty("processed_at", Text(delivery.processed_at));
  return json.Finish();
}

}  // namespace

std::string ToJson(const StoredMessage& stored, bool whole) {
  const Message& message = stored.message;
  base::JsonObject json;
  json.Add("id", message.id.ToString())
      .Add("seq", message.seq)
      .Add("table", message.table)
      .AddUnlessEmpty("namespace", message.name_space)
      .Add("topic", message.topic)
      .AddUnlessEmpty("event_type", message.event_type)
      .Add("event_version", message.event_version)
      .AddUnlessEmpty("aggregate_type", message.aggregate_type)
      .AddUnlessEmpty("aggregate_id", message.aggregate_id)
      .AddUnlessEmpty("key", message.key)
      .AddUnlessEmpty("tenant_id", message.tenant_id ? message.tenant_id->ToString() : "")
      .AddUnlessEmpty("dedupe_key", message.dedupe_key)
      .Add("status", ToString(stored.status))
      .Add("attempts", message.attempt)
      .Add("available_at", base::FormatTimestamp(message.available_at))
      .AddUnlessEmpty("locked_by", stored.locked_by)
      .AddUnlessEmpty("locked_until", Text(stored.locked_until))
      .AddUnlessEmpty("last_error", stored.last_error)
      .Add("created_at", base::FormatTimestamp(message.created_at))
      .Add("updated_at", base::FormatTimestamp(stored.updated_at))
      .AddUnlessEmpty("processed_at", Text(stored.processed_at));
  if (whole) {
    if (!stored.deliveries.empty()) {
      std::vector<std::string> deliveries;
      for (const Delivery& delivery : stored.deliveries) {
        deliveries.push_back(ToJson(delivery));
      }
      json.AddRaw("deliveries", base::JsonArray(deliveries));
    }
    if (!message.headers.empty()) json.AddRaw("headers", message::HeadersToJson(message.headers));
    json.AddRaw("payload", message.payload);
  }
  return json.Finish();
}

}  // namespace outbox::store
