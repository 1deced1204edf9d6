// The tenants' API: /api/v1/notification-outbox. A tenant sees its own notifications and no others;
// the token says whose they are.
//
//   GET    /api/v1/notification-outbox            a page, newest first
//   GET    /api/v1/notification-outbox/stats
//   GET    /api/v1/notification-outbox/{id}
//   POST   /api/v1/notification-outbox/{id}/retry
//   DELETE /api/v1/notification-outbox/{id}
//
// An entry is a message of an outbox table whose payload holds title, body, severity, url and
// metadata. It speaks of `completed` where the table says delivered, and of `failed` for a message
// that waits for a retry.
#pragma once

#include <optional>
#include <string>

#include "service/api/access.h"
#include "service/api/tables.h"
#include "service/http/router.h"

namespace outbox::service {

struct NotificationOptions {
  std::string table = "notification_outbox";
  std::optional<int> attempts_max;  // of its relay: an entry's max_retries is one less
};

// `access` and `tables` outlive the router.
void AddNotificationApi(Router& router, Access& access, Tables& tables,
                        NotificationOptions options);

}  // namespace outbox::service
