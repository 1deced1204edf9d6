// Refusal: why a token is not accepted.
#pragma once

#include <string>
#include <utility>

#include "outbox/status.h"

namespace outbox::service {

// kPermission, with the error code of RFC 6750 as its native one. `reason` is fit for
//   WWW-Authenticate: Bearer error="invalid_token", error_description="REASON"
// as it stands: short, printable ASCII, neither quotes nor backslashes, and nothing of the token.
inline Status RefuseToken(std::string reason) {
  return Status::Permanent(Code::kPermission, std::move(reason)).WithNative("invalid_token");
}

}  // namespace outbox::service
