#include "service/auth/mint.h"

#include <chrono>

#include "base/json_object.h"
#include "base/text.h"
#include "service/auth/base64url.h"
#include "service/auth/options.h"
#include "service/auth/secret.h"
#include "service/auth/verification_key.h"

namespace outbox::service {
namespace {

std::int64_t UnixSeconds(Timestamp at) {
  return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
}

std::string ClaimsJson(const MintedClaims& claims) {
  const AuthOptions defaults;
  std::vector<std::string> permissions;
  for (const std::string& each : claims.permissions) permissions.push_back(base::JsonQuote(each));
  base::JsonObject json;
  json.Add("iss", claims.issuer).Add("aud", claims.audience).Add("sub", claims.subject);
  json.Add("iat", UnixSeconds(claims.issued)).Add("exp", UnixSeconds(claims.expires));
  if (claims.tenant) json.Add(defaults.claims.tenant, claims.tenant->ToString());
  if (claims.operator_scope) json.Add(defaults.claims.scope, defaults.operator_scope);
  if (!permissions.empty()) {
    json.AddRaw(defaults.claims.permissions, base::JsonArray(permissions));
  }
  return json.Finish();
}

}  // namespace

std::string MintToken(const MintedClaims& claims, const std::string& secret,
                      const std::string& kid) {
  const std::string header = base::JsonObject()
                                 .Add("alg", ToString(Algorithm::kHs256))
                                 .Add("typ", "JWT")
                                 .AddUnlessEmpty("kid", kid)
                                 .Finish();
  const std::string text =
      base::StrCat(Base64UrlEncode(header), ".", Base64UrlEncode(ClaimsJson(claims)));
  return base::StrCat(text, ".", Base64UrlEncode(HmacSha256(secret, text)));
}

}  // namespace outbox::service
