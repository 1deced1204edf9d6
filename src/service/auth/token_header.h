// The outer form of a token: three parts, and a header that says little.
//
// A header is an attacker's text. It may name an algorithm and a key that we know already; whatever
// else could change how the token is read, or where a key comes from, is refused.
//
// Threads: functions of their arguments.
#pragma once

#include <string>
#include <string_view>

#include "outbox/status.h"
#include "service/auth/verification_key.h"

namespace outbox::service {

// Views into the token.
struct TokenParts {
  std::string_view header;       // base64url
  std::string_view payload;      // base64url
  std::string_view signed_text;  // both, with the dot
  std::string signature;         // bytes
};

struct TokenHeader {
  Algorithm algorithm = Algorithm::kHs256;
  std::string kid = {};  // empty: none
};

// Errors are refusals (refusal.h).
Result<TokenParts> SplitToken(std::string_view token);
Result<TokenHeader> ReadTokenHeader(std::string_view header);

}  // namespace outbox::service
