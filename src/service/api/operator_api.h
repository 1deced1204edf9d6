// The operators' API: across tenants, and about this process.
//
//   GET  /api/v1/operator/relays                   the relays of all processes, and what is paused
//   GET  /api/v1/operator/stats                    the counts of every table
//   GET  /api/v1/operator/config                   effective settings, secrets masked
//   GET  /api/v1/operator/events                   server-sent events: `relay`, `counters`
//   POST /api/v1/operator/tables/{table}/repair    retry or delete many, by filter
//   POST /api/v1/operator/tables/{table}/pause     pause its relays, or that of one sink
//   POST /api/v1/operator/tables/{table}/resume
//   GET  /api/v1/operator/audit                    what operators changed, newest first
//
// Pause and resume are written to the database: they reach every process within a heartbeat, this
// one at once, and outlast restarts.
//
// A repair is a rehearsal unless the body says "dry_run": false: it then answers how many messages
// it would change. One that is carried out ends with its request's time, and says when it is not
// complete. Every one that is carried out is recorded in the database, in the transaction of
// each change, and told to `audit`.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "service/api/access.h"
#include "service/api/live_events.h"
#include "service/api/relay_board.h"
#include "service/api/relay_switch.h"
#include "service/api/tables.h"
#include "service/http/router.h"

namespace outbox::service {

// What an operator has changed: messages by a repair, which may have ended half-way, or relays.
struct AuditRecord {
  std::string subject;  // whose token it was
  std::string request_id;
  std::string table;
  std::string action;  // "retry", "delete", "pause" or "resume"
  std::string filter;  // JSON, as it was understood
  std::size_t changed = 0;
  bool complete = true;
};

struct OperatorApiOptions {
  std::string process;      // this one's id, as its heartbeats tell it
  std::string config_json;  // {"settings":…,"tables":…}
  std::function<void(const AuditRecord&)> audit;
};

// All outlive the router.
void AddOperatorApi(Router& router, Access& access, Tables& tables, const RelayBoard& board,
                    RelaySwitch& relay_switch, LiveEvents& events, OperatorApiOptions options);

}  // namespace outbox::service
