#include "service/api/access.h"

#include <strings.h>

#include <utility>

#include "base/text.h"
#include "service/api/foreign_page.h"
#include "service/http/client_address.h"
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

// Not the token: a subject may have any number of them. No claim has a line break.
std::string NameOf(const Principal& who) {
  return StrCat(who.issuer, "\n", who.tenant ? who.tenant->ToString() : "", "\n", who.subject);
}

}  // namespace

std::optional<Principal> Access::Identify(const Request& request, Response& refused,
                                          std::chrono::milliseconds patience) {
  if (IsOfOthers(request)) {
    refused = Problem(403, "foreign_page", "Not permitted",
                      "Without authentication this answers at localhost, and no pages of others.");
    return std::nullopt;
  }
  const std::string_view token = BearerToken(request);
  if (authenticator_->required() && token.empty()) {
    refused =
        Refused(request, Unauthorized("Bearer", "Send a token: Authorization: Bearer TOKEN."));
    return std::nullopt;
  }
  Result<Principal> checked = authenticator_->Check(token, patience);
  if (checked.ok()) return *std::move(checked);
  const Status& error = checked.error();
  refused =
      error.code() == Code::kPermission
          ? Refused(request,
                    Unauthorized(StrCat("Bearer error=\"invalid_token\", error_description=\"",
                                        error.message(), "\""),
                                 StrCat("The token is refused: ", error.message(), ".")))
          : ProblemOf(error);
  return std::nullopt;
}

Response Access::Refused(const Request& request, Response refused) {
  const auto wait = refusals_.Take(ClientOfPeer(request.remote));
  return wait.count() > 0 ? TooManyRequests(wait) : std::move(refused);
}

std::optional<Principal> Access::Check(const Request& request, Response& refused,
                                       std::chrono::milliseconds patience) {
  std::optional<Principal> who = Identify(request, refused, patience);
  if (!who) return std::nullopt;
  if (const auto wait = calls_.Take(NameOf(*who)); wait.count() > 0) {
    refused = TooManyRequests(wait);
    return std::nullopt;
  }
  return who;
}

std::optional<Response> Access::Refusal(const Request& request) {
  Response refused;
  if (Identify(request, refused, Authenticator::kPatience)) return std::nullopt;
  return refused;
}

bool Access::IsOfOthers(const Request& request) const {
  return !authenticator_->required() && IsOfForeignPage(request, origins_);
}

bool Access::IsOperator(const Request& request) const {
  if (IsOfOthers(request)) return false;
  const std::string_view token = BearerToken(request);
  if (authenticator_->required() && token.empty()) return false;
  const auto who = authenticator_->Check(token, std::chrono::milliseconds(0));
  return who.ok() && (who->operator_scope || who->unrestricted);
}

std::function<bool()> Access::WhetherStillGood(const Request& request) const {
  return [this, token = std::string(BearerToken(request))] {
    const auto who = authenticator_->Check(token, std::chrono::milliseconds(0));
    return who.ok() || who.error().code() != Code::kPermission;
  };
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
