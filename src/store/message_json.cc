#include "store/message_json.h"

#include <chrono>

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

std::string ToJson(const Attempt& attempt) {
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(attempt.ended_at - attempt.started_at);
  base::JsonObject json;
  json.AddUnlessEmpty("destination", attempt.destination)
      .Add("attempt", attempt.attempt)
      .AddUnlessEmpty("worker", attempt.worker)
      .Add("started_at", base::FormatTimestamp(attempt.started_at))
      .Add("ended_at", base::FormatTimestamp(attempt.ended_at))
      .Add("duration_ms", std::int64_t{took.count()})
      .Add("result", ToString(attempt.result))
      .AddUnlessEmpty("error_class", attempt.error_class)
      .AddUnlessEmpty("error", attempt.error);
  return json.Finish();
}

template <typename T>
std::string ArrayOf(std::span<const T> values) {
  std::vector<std::string> items;
  for (const T& value : values) items.push_back(ToJson(value));
  return base::JsonArray(items);
}

std::string Write(const StoredMessage& stored, bool whole, std::span<const Attempt> attempts) {
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
      .Add("attempts", AttemptsOf(stored))
      .AddUnlessEmpty("available_at", Text(AvailableAt(stored)))
      .AddUnlessEmpty("locked_by", stored.locked_by)
      .AddUnlessEmpty("locked_until", Text(stored.locked_until))
      .AddUnlessEmpty("last_error", stored.last_error)
      .Add("created_at", base::FormatTimestamp(message.created_at))
      .Add("updated_at", base::FormatTimestamp(stored.updated_at))
      .AddUnlessEmpty("processed_at", Text(stored.processed_at));
  if (whole) {
    if (!stored.deliveries.empty()) {
      json.AddRaw("deliveries", ArrayOf(std::span<const Delivery>(stored.deliveries)));
    }
    if (!attempts.empty()) json.AddRaw("attempt_history", ArrayOf(attempts));
    if (!message.headers.empty()) json.AddRaw("headers", message::HeadersToJson(message.headers));
    json.AddRaw("payload", message.payload);
  }
  return json.Finish();
}

}  // namespace

std::string ToJson(const StoredMessage& stored, bool whole) { return Write(stored, whole, {}); }

std::string ToJson(const StoredMessage& stored, std::span<const Attempt> attempts) {
  return Write(stored, true, attempts);
}

}  // namespace outbox::store
