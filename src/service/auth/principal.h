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
  std::string issuer;  // who vouches for the subject, whose name is his alone
  std::string subject;
  std::optional<Uuid> tenant;         // none: the token belongs to no tenant
  std::set<std::string> permissions;  // the scopes and the permissions of the token
  bool operator_scope = false;        // may look across tenants
  bool unrestricted = false;          // authentication is switched off
  Timestamp expires{};                // by the token; the leeway not counted

  bool Has(std::string_view permission) const {
    return unrestricted || permissions.contains(std::string(permission));
  }
};

}  // namespace outbox::service
