// Authenticator: a bearer token's text in, a Principal out.
//
//   OUTBOX_ASSIGN_OR_RETURN(const auto authenticator, Authenticator::Open(options));
//   const Result<Principal> who = authenticator->Check(token);
//
// What is checked, and in which order: the size; the form (three parts of canonical base64url); the
// header (token_header.h); which key, and that the algorithm is the key's; the signature; then, and
// only then, the claims. docs/reference/authentication.md has the list.
//
// Threads: any number at once.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string_view>

#include "outbox/message.h"
#include "outbox/status.h"
#include "service/auth/key_ring.h"
#include "service/auth/notices.h"
#include "service/auth/options.h"
#include "service/auth/principal.h"

namespace outbox::service {

// What it takes from its surroundings.
struct AuthSurroundings {
  std::function<Timestamp()> now = {};  // the system's clock when not given
  Notice notice = {};                   // keys that are left out, fetches that fail
};

class Authenticator {
 public:
  // How long Check and Open may wait for a key set's URL.
  static constexpr std::chrono::milliseconds kPatience{2000};

  // Reads secrets, keys and the key set's file; kInvalidArgument, kNotFound and kPermission name
  // every one that can not be used. A URL that does not answer is no failure: a notice tells of it,
  // and its keys come later.
  static Result<std::unique_ptr<Authenticator>> Open(AuthOptions options,
                                                     AuthSurroundings surroundings = {});

  // kPermission: refused. The message is the reason, fit for an answer (refusal.h), and holds
  // nothing of the token. kUnavailable: can not be told now, since a key set's URL has never
  // answered. Blocks, up to `patience`, only when a token asks for a key that a URL may have newly.
  // With `none` every text is accepted, the empty one too.
  Result<Principal> Check(std::string_view token,
                          std::chrono::milliseconds patience = kPatience) const;

  // False with `none`: no token is needed.
  bool required() const { return !options_.none; }
  // Whether every origin of keys has given some: for readiness.
  bool ready() const { return keys_.Complete(); }

 private:
  Authenticator(AuthOptions options, AuthSurroundings surroundings, KeyRing keys);

  const AuthOptions options_;
  const AuthSurroundings surroundings_;
  const KeyRing keys_;
};

}  // namespace outbox::service
