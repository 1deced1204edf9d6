// Claims: what a token says about its bearer, once its signature has been found good.
//
// Threads: functions of their arguments.
#pragma once

#include <string_view>

#include "outbox/message.h"
#include "outbox/status.h"
#include "service/auth/options.h"
#include "service/auth/principal.h"

namespace outbox::service {

// `payload` is the JSON text. Errors are refusals (refusal.h) that name the claim.
Result<Principal> ReadClaims(std::string_view payload, const AuthOptions& options, Timestamp now);

}  // namespace outbox::service
