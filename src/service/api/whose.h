// Whose rows a request is about: a tenant's token knows only its own; an operator may name one.
#pragma once

#include "outbox/status.h"
#include "service/auth/principal.h"
#include "service/http/request.h"
#include "store/scope.h"

namespace outbox::service {

// Operators, and everybody where authentication is switched off.
bool SeesAllTenants(const Principal& who);

// By the token, and for operators by the parameter `tenant`. kInvalidArgument when that is no UUID,
// or is asked for by somebody else. kPermission for a token without a tenant that is no operator's.
Result<store::Scope> WhoseRows(const Request& request, const Principal& who);

}  // namespace outbox::service
