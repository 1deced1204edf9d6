// What every bus carries beside a payload: the message's identity and where its delivery stands, as
// headers. The names are a contract with consumers; docs/reference/headers.md lists them.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"
#include "outbox/message.h"

namespace outbox::sink {

// All names below begin with it. A producer's own header of such a name is left out: it would lie.
inline constexpr std::string_view kMetadataPrefix = "outbox-";

inline constexpr std::string_view kIdHeader = "outbox-id";
inline constexpr std::string_view kTableHeader = "outbox-table";
inline constexpr std::string_view kSeqHeader = "outbox-seq";
inline constexpr std::string_view kTopicHeader = "outbox-topic";
inline constexpr std::string_view kAttemptHeader = "outbox-attempt";
inline constexpr std::string_view kCreatedAtHeader = "outbox-created-at";
inline constexpr std::string_view kTenantHeader = "outbox-tenant-id";
inline constexpr std::string_view kKeyHeader = "outbox-key";
inline constexpr std::string_view kNamespaceHeader = "outbox-namespace";
inline constexpr std::string_view kEventTypeHeader = "outbox-event-type";
inline constexpr std::string_view kEventVersionHeader = "outbox-event-version";
inline constexpr std::string_view kAggregateTypeHeader = "outbox-aggregate-type";
inline constexpr std::string_view kAggregateIdHeader = "outbox-aggregate-id";

// Calls visit(name, value) with the metadata (fields without a value left out), then the producer's
// headers in their order, trace context included, values unchanged. Each text ends in a zero byte
// and lives until visit returns.
template <typename Visit>
void VisitDeliveryHeaders(const Message& message, Visit visit) {
  const auto give = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) visit(name, std::string_view(value));
  };
  give(kIdHeader, message.id.ToString());
  give(kTableHeader, message.table);
  give(kSeqHeader, std::to_string(message.seq));
  give(kTopicHeader, message.topic);
  give(kAttemptHeader, std::to_string(message.attempt));
  give(kCreatedAtHeader, base::FormatTimestamp(message.created_at));
  if (message.tenant_id) give(kTenantHeader, message.tenant_id->ToString());
  give(kKeyHeader, message.key);
  give(kNamespaceHeader, message.name_space);
  give(kEventTypeHeader, message.event_type);
  give(kEventVersionHeader, std::to_string(message.event_version));
  give(kAggregateTypeHeader, message.aggregate_type);
  give(kAggregateIdHeader, message.aggregate_id);
  for (const auto& [name, value] : message.headers) {
    if (!name.starts_with(kMetadataPrefix)) visit(std::string_view(name), std::string_view(value));
  }
}

// The same as a list.
Headers DeliveryHeaders(const Message& message);

}  // namespace outbox::sink
