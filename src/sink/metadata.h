// What every bus carries beside a payload: the message's identity and where its delivery stands, as
// headers. The names are a contract with consumers; docs/reference/headers.md lists them.
#pragma once

#include <string_view>

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

// The metadata (fields without a value left out), then the producer's headers in their order, trace
// context included, values unchanged.
Headers DeliveryHeaders(const Message& message);

}  // namespace outbox::sink
