#include "service/auth/authenticator.h"

#include <string>
#include <utility>

#include "service/auth/base64url.h"
#include "service/auth/claims.h"
#include "service/auth/key_sources.h"
#include "service/auth/refusal.h"
#include "service/auth/token_header.h"

namespace outbox::service {
namespace {

Principal Anyone() {
  return Principal{.subject = "anonymous",
                   .operator_scope = true,
                   .unrestricted = true,
                   .expires = Timestamp::max()};
}

}  // namespace

Result<std::unique_ptr<Authenticator>> Authenticator::Open(AuthOptions options,
                                                           AuthSurroundings surroundings) {
  OUTBOX_RETURN_IF_ERROR(options.Validate());
  if (!surroundings.now) {
    surroundings.now = [] {
      return std::chrono::floor<Timestamp::duration>(std::chrono::system_clock::now());
    };
  }
  OUTBOX_ASSIGN_OR_RETURN(auto sources, OpenKeySources(options, surroundings.notice, kPatience));
  return std::unique_ptr<Authenticator>(
      new Authenticator(std::move(options), std::move(surroundings), KeyRing(std::move(sources))));
}

Authenticator::Authenticator(AuthOptions options, AuthSurroundings surroundings, KeyRing keys)
    : options_(std::move(options)),
      surroundings_(std::move(surroundings)),
      keys_(std::move(keys)) {}

Result<Principal> Authenticator::Check(std::string_view token,
                                       std::chrono::milliseconds patience) const {
  if (options_.none) return Anyone();
  if (token.size() > options_.token_size_max) return RefuseToken("the token is too large");
  OUTBOX_ASSIGN_OR_RETURN(const TokenParts parts, SplitToken(token));
  OUTBOX_ASSIGN_OR_RETURN(const TokenHeader header, ReadTokenHeader(parts.header));
  OUTBOX_ASSIGN_OR_RETURN(const auto key, keys_.Find(header, patience));
  if (!key->Verify(parts.signed_text, parts.signature)) {
    return RefuseToken("the signature of the token is wrong");
  }
  const auto payload = Base64UrlDecode(parts.payload);
  if (!payload) return RefuseToken("the payload of the token is not base64url");
  return ReadClaims(*payload, options_, surroundings_.now());
}

}  // namespace outbox::service
