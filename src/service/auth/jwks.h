// JSON web key sets (RFC 7517).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/status.h"
#include "service/auth/key_set.h"

namespace outbox::service {

inline constexpr std::size_t kJwksBytesMax = 256 * 1024;

enum class JwksOrigin : std::uint8_t {
  kLocal,   // may hold secrets
  kRemote,  // public keys only: a secret that others can read is none
};

struct Jwks {
  KeySet keys;
  // "key 2 (kid a1): is for encryption", one for each key that is left out.
  std::vector<std::string> skipped;
};

// Keys that can not be used here (another kind, another algorithm, a private key, one too small)
// are left out; the rest is used. Fails with kInvalidArgument only when the text is no key set.
Result<Jwks> ParseJwks(std::string_view text, JwksOrigin origin);

}  // namespace outbox::service
