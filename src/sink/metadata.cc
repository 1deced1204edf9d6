#include "sink/metadata.h"

#include "base/text.h"

namespace outbox::sink {

Headers DeliveryHeaders(const Message& message) {
  Headers headers;
  headers.reserve(message.headers.size() + 12);
  const auto add = [&](std::string_view name, std::string value) {
    if (!value.empty()) headers.emplace_back(name, std::move(value));
  };
  add(kIdHeader, message.id.ToString());
  add(kTableHeader, message.table);
  add(kSeqHeader, std::to_string(message.seq));
  add(kTopicHeader, message.topic);
  add(kAttemptHeader, std::to_string(message.attempt));
  add(kCreatedAtHeader, base::FormatTimestamp(message.created_at));
  add(kTenantHeader, message.tenant_id ? message.tenant_id->ToString() : "");
  add(kKeyHeader, message.key);
  add(kNamespaceHeader, message.name_space);
  add(kEventTypeHeader, message.event_type);
  add(kEventVersionHeader, std::to_string(message.event_version));
  add(kAggregateTypeHeader, message.aggregate_type);
  add(kAggregateIdHeader, message.aggregate_id);
  for (const auto& header : message.headers) {
    if (!header.first.starts_with(kMetadataPrefix)) headers.push_back(header);
  }
  return headers;
}

}  // namespace outbox::sink
