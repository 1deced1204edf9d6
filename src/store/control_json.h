// Relays, pauses and audit records as JSON, as `outboxd relays --json` and the HTTP API write them.
#pragma once

#include <string>

#include "base/json_object.h"
#include "store/control_store.h"

namespace outbox::store {

// Everything of a relay but its counters and state, which may be known better elsewhere. `pause`
// may be null.
void AddRelay(base::JsonObject& json, const ListedRelay& relay);
void AddPause(base::JsonObject& json, const RelayPause* pause);

std::string ToJson(const ListedRelay& relay, const RelayPause* pause);
std::string ToJson(const RelayPause& pause);
std::string ToJson(const AuditRecord& record);

// "public.orders_outbox", or "public.orders_outbox/rabbit" with a sink.
std::string RelayName(const RelayBeat& relay);

}  // namespace outbox::store
