// Actor: who an audit record names.
#pragma once

#include <optional>
#include <string>

#include "outbox/uuid.h"
#include "service/auth/principal.h"
#include "service/http/request.h"
#include "store/audit.h"

namespace outbox::service {

// The token's subject; "anonymous" where authentication is switched off or the token names nobody.
std::string ActorOf(const Principal& who);

// For the repair of one message: what is recorded when an operator asks for it. Nothing for others.
std::optional<store::Audit> AuditOfOperator(const Request& request, const Principal& who,
                                            const Uuid& id);

}  // namespace outbox::service
