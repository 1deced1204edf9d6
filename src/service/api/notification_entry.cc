#include "service/api/notification_entry.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_object.h"
#include "base/text.h"

namespace outbox::service {
namespace {

std::string TimeOrNull(const std::optional<Timestamp>& at) {
  return at ? base::JsonQuote(base::FormatTimestamp(*at)) : "null";
}

std::string TextOrNull(std::string_view text) {
  return text.empty() ? "null" : base::JsonQuote(text);
}

// How many attempts failed and were followed by a retry. The last attempt is one of them only while
// the message waits: otherwise it is under way, or it delivered the message, or the message died.
int RetryCount(const store::StoredMessage& stored, std::optional<int> retries_max) {
  const bool waits = stored.status == MessageStatus::kPending;
  const int retries = std::max(0, stored.message.attempt - (waits ? 0 : 1));
  return retries_max ? std::min(retries, *retries_max) : retries;
}

// A dead message stands as its last attempt left it.
std::optional<Timestamp> ProcessedAt(const store::StoredMessage& stored) {
  return stored.status == MessageStatus::kDead ? stored.updated_at : stored.processed_at;
}

// A member of the payload as JSON text. One of another type than `fallback` is as good as none:
// producers write what they like, readers are promised a type.
std::string Member(const nlohmann::json& payload, const char* name,
                   const nlohmann::json& fallback) {
  const bool fits =
      payload.is_object() && payload.contains(name) && payload[name].type() == fallback.type();
  return (fits ? payload[name] : fallback)
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string_view NotificationStatus(const store::StoredMessage& stored) noexcept {
  switch (stored.status) {
    case MessageStatus::kPending: return stored.message.attempt > 0 ? "failed" : "pending";
    case MessageStatus::kProcessing: return "processing";
    case MessageStatus::kDelivered: return "completed";
    case MessageStatus::kDead: return "dead";
  }
  return "pending";
}

std::string NotificationEntry(const store::StoredMessage& stored, std::optional<int> attempts_max) {
  const Message& message = stored.message;
  const auto payload = nlohmann::json::parse(message.payload, nullptr, false);
  const auto retries_max = attempts_max ? std::optional(*attempts_max - 1) : std::nullopt;
  const bool leased = stored.status == MessageStatus::kProcessing;
  base::JsonObject json;
  json.Add("id", message.id.ToString())
      .Add("event_type", message.event_type)
      .Add("aggregate_type", message.aggregate_type)
      .AddRaw("aggregate_id", TextOrNull(message.aggregate_id))
      .AddRaw("title", Member(payload, "title", ""))
      .AddRaw("body", Member(payload, "body", ""))
      .AddRaw("severity", Member(payload, "severity", "info"))
      .AddRaw("url", Member(payload, "url", ""))
      .Add("status", NotificationStatus(stored))
      .Add("retry_count", RetryCount(stored, retries_max))
      .AddRaw("max_retries", retries_max ? std::to_string(*retries_max) : "null")
      .Add("last_error", stored.last_error)
      .AddRaw("scheduled_at", TimeOrNull(store::AvailableAt(stored)))
      // The row knows when its lease was taken: nothing has changed it since.
      .AddRaw("locked_at", leased ? TimeOrNull(stored.updated_at) : "null")
      .AddRaw("processed_at", TimeOrNull(ProcessedAt(stored)))
      .Add("created_at", base::FormatTimestamp(message.created_at))
      .Add("updated_at", base::FormatTimestamp(stored.updated_at))
      .AddRaw("metadata", Member(payload, "metadata", nlohmann::json::object()));
  return json.Finish();
}

}  // namespace outbox::service
