#include "service/api/access.h"

#include <strings.h>

#include <utility>

#include "base/text.h"
#include "service/http/problem.h"

namespace outbox::service {
namespace {

using base::StrCat;

constexpr std::string_view kBearer = "Bearer ";

Response Unauthorized(std::string_view challenge, std::string_view detail) {
  Response response = Problem(401, "unauthorized", "Not authenticated", detail);
  response.headers.emplace_back("WWW-Authenticate", challenge);
  return response;
}

Response Forbidden(std::string_view needed) {
  return Problem(403, "forbidden", "Not permitted",
                 StrCat("This needs the permission ", needed, "."));
}

// The token of "Authorization: Bearer TOKEN"; empty when there is none.
std::string_view BearerToken(const Request& request) {
  const std::string_view field = request.Header("authorization");
  if (field.size() <= kBearer.size() ||
      strncasecmp(field.data(), kBearer.data(), kBearer.size()) != 0) {
    return {};
  }
  return field.substr(kBearer.size());
}

}  // namespace

std::optional<Principal> Access::Check(const Request& request, Response& refused,
                                       std::chrono::milliseconds patience) {
  const std::string_view token = BearerToken(request);
  if (authenticator_->required() && token.empty()) {
    refused = Unauthorized("Bearer", "Send a token: Authorization: Bearer TOKEN.");
    return std::nullopt;
  }
  Result<Principal> checked = authenticator_->Check(token, patience);
  if (!checked.ok()) {
    const Status& error = checked.error();
    refused = error.code() == Code::kPermission
                  ? Unauthorized(StrCat("Bearer error=\"invalid_token\", error_description=\"",
                                        error.message(), "\""),
                                 StrCat("The token is refused: ", error.message(), "."))
                  : ProblemOf(error);
    return std::nullopt;
  }
  const std::string& key = checked->token_key.empty() ? request.remote : checked->token_key;
  if (const auto wait = limiter_.Take(key); wait.count() > 0) {
    refused = TooManyRequests(wait);
    return std::nullopt;
  }
  return *std::move(checked);
}

Handler Access::Permitted(std::string_view permission, KnownHandler handler) {
  return [this, permission, handler = std::move(handler)](const Request& request) {
    Response refused;
    const auto who = Check(request, refused);
    if (!who) return refused;
    if (!who->operator_scope && !who->Has(permission)) return Forbidden(permission);
    return handler(request, *who);
  };
}

Handler Access::OfTenant(std::string_view permission, KnownHandler handler) {
  return Permitted(
      permission, [handler = std::move(handler)](const Request& request, const Principal& who) {
        if (!who.tenant) {
          return Problem(403, "no_tenant", "Not a tenant", "This token belongs to no tenant.");
        }
        return handler(request, who);
      });
}

Handler Access::Operators(KnownHandler handler, std::chrono::milliseconds patience) {
  return [this, patience, handler = std::move(handler)](const Request& request) {
    Response refused;
    const auto who = Check(request, refused, patience);
    if (!who) return refused;
    if (!who->operator_scope && !who->unrestricted) return Forbidden("of operators");
    return handler(request, *who);
  };
}

}  // namespace outbox::service
