// AuthOptions: whose tokens are accepted, and which of their claims mean what.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "outbox/status.h"

namespace outbox::service {

// A secret for HS256: exactly one of `file` and `env`, of at least 32 bytes (secret.h).
struct SecretSource {
  std::string file = {};
  std::string env = {};  // the name of a variable
  std::string kid = {};  // the name by which tokens ask for it; empty: tokens name no key
};

// A public key, RSA (for RS256) or P-256 (for ES256), in PEM.
struct PublicKeySource {
  std::string file = {};
  std::string kid = {};
};

// How the claims are called that no standard names.
struct ClaimNames {
  std::string tenant = "tenant";            // a UUID in lower case
  std::string scope = "scope";              // these two: a list, or a text with spaces between
  std::string permissions = "permissions";  // both are merged
};

struct AuthOptions {
  // No authentication: every request may do everything. Goes with no key, and only ever for a
  // service that listens on a loopback address; that is for its owner to see to.
  bool none = false;

  std::vector<std::string> issuers = {"outboxd"};    // `iss` must be one of them
  std::vector<std::string> audiences = {"outboxd"};  // `aud` must have one of them
  // How far the clocks of the issuer and of this machine may be apart. At most 60 s.
  std::chrono::seconds leeway{30};
  ClaimNames claims = {};
  std::string operator_scope = "outboxd:operator";  // the scope of those who see all tenants
  std::size_t token_size_max = 8 * 1024;

  // At least one key, from anywhere. Secrets and PEM files are read once, when opened.
  std::vector<SecretSource> secrets = {};
  std::vector<PublicKeySource> public_keys = {};
  std::string jwks_file = {};  // read again when it changes; may hold secrets (kty oct)
  std::string jwks_url = {};   // https, or http to a loopback address
  std::string jwks_ca = {};  // certificates (PEM) that the URL's is checked with; else the system's
  std::chrono::seconds jwks_interval{300};  // between fetches; 10 s to 24 h

  // "leeway: 90s is more than 60s", one for each problem. Looks at no file and no network.
  std::vector<std::string> Problems() const;
  // kInvalidArgument with all of them, a line each.
  Status Validate() const;
};

}  // namespace outbox::service
