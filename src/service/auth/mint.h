// Minting: tokens for development, signed with a local secret.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "outbox/message.h"
#include "outbox/uuid.h"

namespace outbox::service {

struct MintedClaims {
  std::string issuer = "outboxd";
  std::string audience = "outboxd";
  std::string subject;
  std::optional<Uuid> tenant = {};
  std::vector<std::string> permissions = {};
  bool operator_scope = false;
  Timestamp issued{};
  Timestamp expires{};  // whole seconds; the rest is cut off
};

// HS256, with the names of claims that AuthOptions has by default. `kid` may be empty.
std::string MintToken(const MintedClaims& claims, const std::string& secret,
                      const std::string& kid);

}  // namespace outbox::service
