// One message as a line of JSON, as `outboxd enqueue` reads it:
//
//   {"topic":"orders.order.created.v1","payload":{"id":42},"key":"42"}
//
// The members are the fields of NewMessage under the names of the table's columns: id, namespace,
// topic, event_type, event_version, aggregate_type, aggregate_id, key, tenant_id, dedupe_key,
// payload, headers, traceparent, tracestate, available_at, and delay ("5s").
#pragma once

#include <string>
#include <string_view>

#include "outbox/message.h"
#include "outbox/status.h"

namespace outbox::message {

// The bytes of the payload are taken over as they stand in the line. kInvalidArgument names the
// member that is wrong, or there twice, as it does for a header; what the message itself must obey
// is checked by Enqueue.
Result<NewMessage> ParseMessageLine(std::string_view line);

}  // namespace outbox::message
