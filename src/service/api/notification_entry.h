// A stored message as a tenant's notification: the entry of the tenants' API.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/inspect_store.h"

namespace outbox::service {

// "pending", "processing", "completed", "failed" or "dead".
std::string_view NotificationStatus(const store::StoredMessage& stored) noexcept;

// The tenant is left out: it is the one who asks.
std::string NotificationEntry(const store::StoredMessage& stored, std::optional<int> attempts_max);

}  // namespace outbox::service
