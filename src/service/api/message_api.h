// The API of every outbox table: its messages, what became of them, and repairs.
//
//   GET    /api/v1/tables
//   GET    /api/v1/tables/{table}/stats
//   GET    /api/v1/tables/{table}/messages        by status, topic, key, tenant, time, error;
//   cursor POST   /api/v1/tables/{table}/messages        enqueue; only where it is switched on GET
//   /api/v1/tables/{table}/messages/{id}   whole, with its deliveries POST
//   /api/v1/tables/{table}/messages/{id}/retry DELETE /api/v1/tables/{table}/messages/{id}
//
// A token of a tenant sees that tenant's messages; an operator's sees all, or those of the tenant
// it names.
#pragma once

#include "service/api/access.h"
#include "service/api/tables.h"
#include "service/http/router.h"

namespace outbox::service {

struct MessageApiOptions {
  bool enqueue = false;
  EnqueueObserver* enqueued = nullptr;  // outlives the router
};

// `access` and `tables` outlive the router.
void AddMessageApi(Router& router, Access& access, Tables& tables, MessageApiOptions options);

}  // namespace outbox::service
