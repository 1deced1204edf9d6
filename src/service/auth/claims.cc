#include "service/auth/claims.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/text.h"
#include "service/auth/refusal.h"
#include "service/auth/strict_json.h"

namespace outbox::service {
namespace {

using Json = nlohmann::json;
using base::StrCat;

constexpr std::size_t kClaimTextMax = 256;
constexpr std::size_t kAudiencesMax = 32;
constexpr std::size_t kPermissionsMax = 128;
constexpr std::size_t kPermissionBytesMax = 128;
constexpr std::int64_t kLatestSecond = 253'402'300'799;  // 9999-12-31T23:59:59Z

Status RefuseClaim(std::string_view name, std::string_view why) {
  return RefuseToken(StrCat("claim ", name, " ", why));
}

// No value: the claim is absent.
Result<std::optional<std::int64_t>> ReadTime(const Json& claims, const char* name) {
  using Time = std::optional<std::int64_t>;
  const auto claim = claims.find(name);
  if (claim == claims.end()) return Time();
  if (!claim->is_number_integer()) return RefuseClaim(name, "is not a whole number");
  const bool negative = !claim->is_number_unsigned() && claim->get<std::int64_t>() < 0;
  if (negative || claim->get<std::uint64_t>() > std::uint64_t{kLatestSecond}) {
    return RefuseClaim(name, "is out of range");
  }
  return Time(claim->get<std::int64_t>());
}

Result<std::string> ReadText(const Json& claims, const char* name) {
  const auto claim = claims.find(name);
  if (claim == claims.end()) return RefuseClaim(name, "is missing");
  if (!claim->is_string()) return RefuseClaim(name, "is not text");
  const auto& text = claim->get_ref<const std::string&>();
  const bool plain =
      std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
  if (text.empty() || text.size() > kClaimTextMax || !plain) {
    return RefuseClaim(name, "is malformed");
  }
  return text;
}

bool IsOneOf(const Json& text, const std::vector<std::string>& known) {
  return text.is_string() &&
         std::find(known.begin(), known.end(), text.get_ref<const std::string&>()) != known.end();
}

Status CheckAudience(const Json& claims, const std::vector<std::string>& ours) {
  const auto claim = claims.find("aud");
  if (claim == claims.end()) return RefuseClaim("aud", "is missing");
  bool meant = false;
  if (claim->is_array()) {
    if (claim->size() > kAudiencesMax) return RefuseClaim("aud", "has too many values");
    for (const Json& each : *claim) {
      if (!each.is_string()) return RefuseClaim("aud", "is not text");
      meant = meant || IsOneOf(each, ours);
    }
  } else {
    if (!claim->is_string()) return RefuseClaim("aud", "is not text");
    meant = IsOneOf(*claim, ours);
  }
  return meant ? Status::Ok() : RefuseClaim("aud", "does not name this service");
}

// Returns when the token expires.
Result<std::int64_t> CheckTimes(const Json& claims, std::int64_t leeway, std::int64_t now) {
  OUTBOX_ASSIGN_OR_RETURN(const auto expires, ReadTime(claims, "exp"));
  OUTBOX_ASSIGN_OR_RETURN(const auto not_before, ReadTime(claims, "nbf"));
  OUTBOX_ASSIGN_OR_RETURN(const auto issued, ReadTime(claims, "iat"));
  if (!expires) return RefuseClaim("exp", "is missing");
  if (now >= *expires + leeway) return RefuseToken("the token has expired");
  if (not_before && *not_before > now + leeway) return RefuseToken("the token is not valid yet");
  if (issued && *issued > now + leeway) return RefuseToken("the token was issued in the future");
  return *expires;
}

Result<std::optional<Uuid>> ReadTenant(const Json& claims, const std::string& name) {
  const auto claim = claims.find(name);
  if (claim == claims.end()) return std::optional<Uuid>();
  const auto tenant =
      claim->is_string() ? Uuid::Parse(claim->get_ref<const std::string&>()) : std::nullopt;
  if (!tenant) return RefuseClaim(name, "is not a UUID");
  if (tenant->is_nil()) return RefuseClaim(name, "is the nil UUID");
  // One spelling only: it may be compared as text further on.
  if (tenant->ToString() != claim->get_ref<const std::string&>()) {
    return RefuseClaim(name, "is not a UUID in lower case");
  }
  return tenant;
}

// A scope token in the sense of RFC 6749.
bool IsPermission(std::string_view text) {
  return !text.empty() && text.size() <= kPermissionBytesMax &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c > ' ' && c <= '~' && c != '"' && c != '\\'; });
}

// Adds what is in an array, or in a text with spaces between.
Status AddPermissions(const Json& claims, const std::string& name, std::set<std::string>& all) {
  const auto claim = claims.find(name);
  if (claim == claims.end()) return Status::Ok();
  std::vector<std::string> found;
  if (claim->is_string()) {
    const auto& text = claim->get_ref<const std::string&>();
    if (!text.empty()) found = base::Split(text, ' ');
  } else if (claim->is_array()) {
    for (const Json& each : *claim) {
      if (!each.is_string()) return RefuseClaim(name, "is not a list of texts");
      found.push_back(each.get<std::string>());
    }
  } else {
    return RefuseClaim(name, "is not a list of texts");
  }
  for (std::string& each : found) {
    if (!IsPermission(each)) return RefuseClaim(name, "has a malformed value");
    all.insert(std::move(each));
    if (all.size() > kPermissionsMax) return RefuseClaim(name, "has too many values");
  }
  return Status::Ok();
}

}  // namespace

Result<Principal> ReadClaims(std::string_view payload, const AuthOptions& options, Timestamp now) {
  const auto claims = ParseStrictJson(payload);
  if (!claims.ok()) {
    return RefuseToken(StrCat("the payload of the token ", claims.error().message()));
  }
  OUTBOX_ASSIGN_OR_RETURN(const std::string issuer, ReadText(*claims, "iss"));
  if (!IsOneOf(issuer, options.issuers)) return RefuseClaim("iss", "is not a known issuer");
  OUTBOX_RETURN_IF_ERROR(CheckAudience(*claims, options.audiences));
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  OUTBOX_ASSIGN_OR_RETURN(const std::int64_t expires,
                          CheckTimes(*claims, options.leeway.count(), seconds));
  Principal principal;
  principal.issuer = issuer;
  principal.expires = Timestamp(std::chrono::seconds(expires));
  OUTBOX_ASSIGN_OR_RETURN(principal.subject, ReadText(*claims, "sub"));
  OUTBOX_ASSIGN_OR_RETURN(principal.tenant, ReadTenant(*claims, options.claims.tenant));
  OUTBOX_RETURN_IF_ERROR(AddPermissions(*claims, options.claims.scope, principal.permissions));
  OUTBOX_RETURN_IF_ERROR(
      AddPermissions(*claims, options.claims.permissions, principal.permissions));
  principal.operator_scope = principal.permissions.contains(options.operator_scope);
  return principal;
}

}  // namespace outbox::service
