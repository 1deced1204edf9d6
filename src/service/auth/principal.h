// Principal: who is asking, as a token has said and a signature has proved.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "outbox/message.h"
#include "outbox/uuid.h"

namespace outbox::service {

struct Principal {
  std::string subject;
  std::optional<Uuid> tenant;         // none: the token belongs to no tenant
  std::set<std::string> permissions;  // the scopes and the permissions of the token
  bool operator_scope = false;        // may look across tenants
  bool unrestricted = false;          // authentication is switched off
  Timestamp expires{};                // by the token; the leeway not counted
  // Tells tokens apart in rate limits, logs and metrics: a hash from which no token can be made.
  // Another signature of the same content gives the same key.
  std::string token_key;

  bool Has(std::string_view permission) const {
    return unrestricted || permissions.contains(std::string(permission));
  }
};

}  // namespace outbox::service
