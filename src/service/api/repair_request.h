// RepairRequest: the body of a repair of many messages.
//
//   {"action":"retry","filter":{"status":"dead","topic":"orders.order.created.v1",
//    "error":"timeout","created_from":"2026-01-05T00:00:00Z","tenant":"…"},"dry_run":false}
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "outbox/status.h"
#include "store/list_filter.h"
#include "store/scope.h"

namespace outbox::service {

struct RepairRequest {
  bool retry = true;  // or delete
  store::RepairFilter filter;
  store::Scope scope = store::Scope::All();
  bool dry_run = true;
  std::size_t limit = 0;    // messages at most
  std::string filter_json;  // as it was understood, for the audit

  // kInvalidArgument names the member, also one that is unknown.
  static Result<RepairRequest> Read(std::string_view body);
};

}  // namespace outbox::service
