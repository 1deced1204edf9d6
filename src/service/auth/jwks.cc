#include "service/auth/jwks.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "service/auth/base64url.h"
#include "service/auth/strict_json.h"

namespace outbox::service {
namespace {

using Json = nlohmann::json;
using base::StrCat;

constexpr JsonLimits kJwksLimits{.depth_max = 8, .values_max = 8192};
constexpr std::size_t kShownKidMax = 64;
constexpr std::size_t kSkippedMax = 16;

std::string MemberText(const Json& key, const char* name) {
  const auto member = key.find(name);
  return member != key.end() && member->is_string() ? member->get<std::string>() : "";
}

std::optional<std::string> MemberBytes(const Json& key, const char* name) {
  const auto member = key.find(name);
  if (member == key.end() || !member->is_string()) return std::nullopt;
  auto bytes = Base64UrlDecode(member->get_ref<const std::string&>());
  if (!bytes || bytes->empty()) return std::nullopt;
  return bytes;
}

// What its owner says it is for.
Status CheckUse(const Json& key) {
  if (key.contains("use") && MemberText(key, "use") != "sig") {
    return Status::Invalid("is not for signatures (use)");
  }
  if (const auto operations = key.find("key_ops"); operations != key.end()) {
    const bool verifies =
        operations->is_array() &&
        std::find(operations->begin(), operations->end(), Json("verify")) != operations->end();
    if (!verifies) return Status::Invalid("is not for verifying (key_ops)");
  }
  return Status::Ok();
}

Result<VerificationKey> MakeKey(const Json& key, std::string kid, JwksOrigin origin) {
  const std::string kind = MemberText(key, "kty");
  if (kind == "oct") {
    if (origin == JwksOrigin::kRemote) return Status::Invalid("is a secret that others can read");
    auto secret = MemberBytes(key, "k");
    if (!secret) return Status::Invalid("has no k in base64url");
    return VerificationKey::FromSecret(*std::move(secret), std::move(kid));
  }
  if (key.contains("d")) return Status::Invalid("is a private key");
  if (kind == "RSA") {
    const auto modulus = MemberBytes(key, "n"), exponent = MemberBytes(key, "e");
    if (!modulus || !exponent) return Status::Invalid("has no n and e in base64url");
    return VerificationKey::FromRsa(*modulus, *exponent, std::move(kid));
  }
  if (kind == "EC") {
    if (MemberText(key, "crv") != "P-256") return Status::Invalid("is not of P-256 (crv)");
    const auto x = MemberBytes(key, "x"), y = MemberBytes(key, "y");
    if (!x || !y) return Status::Invalid("has no x and y in base64url");
    return VerificationKey::FromP256(*x, *y, std::move(kid));
  }
  return Status::Invalid("is of a kind that is not supported (kty)");
}

Result<VerificationKey> ReadKey(const Json& key, JwksOrigin origin) {
  if (!key.is_object()) return Status::Invalid("is not an object");
  if (key.contains("kid") && !key.at("kid").is_string())
    return Status::Invalid("has a kid that is not text");
  OUTBOX_RETURN_IF_ERROR(CheckUse(key));
  OUTBOX_ASSIGN_OR_RETURN(VerificationKey made, MakeKey(key, MemberText(key, "kid"), origin));
  if (key.contains("alg") && MemberText(key, "alg") != ToString(made.algorithm())) {
    return Status::Invalid("is for another algorithm (alg)");
  }
  return made;
}

// Keys without a kid stay side by side: then a token has to name its key.
bool HasNamed(const KeySet& keys, const VerificationKey& wanted) {
  return !wanted.kid().empty() &&
         std::any_of(keys.begin(), keys.end(), [&](const VerificationKey& key) {
           return key.algorithm() == wanted.algorithm() && key.kid() == wanted.kid();
         });
}

std::string Skipped(std::size_t index, const Json& key, std::string_view why) {
  const std::string kid = key.is_object() ? MemberText(key, "kid") : "";
  return StrCat("key ", index + 1,
                kid.empty() ? "" : StrCat(" (kid ", base::CleanError(kid, kShownKidMax), ")"), ": ",
                why);
}

}  // namespace

Result<Jwks> ParseJwks(std::string_view text, JwksOrigin origin) {
  if (text.size() > kJwksBytesMax) {
    return Status::Invalid(StrCat("is larger than ", kJwksBytesMax, " bytes"));
  }
  OUTBOX_ASSIGN_OR_RETURN(const Json set, ParseStrictJson(text, kJwksLimits));
  const auto keys = set.find("keys");
  if (keys == set.end() || !keys->is_array()) return Status::Invalid("has no array \"keys\"");
  Jwks jwks;
  const auto skip = [&](std::size_t index, std::string_view why) {
    if (jwks.skipped.size() < kSkippedMax) {
      jwks.skipped.push_back(Skipped(index, (*keys)[index], why));
    }
  };
  for (std::size_t i = 0; i < keys->size(); ++i) {
    if (jwks.keys.size() == kKeysMax) {
      skip(i, StrCat("there are more than ", kKeysMax, " keys; the rest is left out"));
      break;
    }
    auto key = ReadKey((*keys)[i], origin);
    if (!key.ok()) {
      skip(i, key.error().message());
    } else if (HasNamed(jwks.keys, *key)) {
      skip(i, "an earlier key has the same kid and algorithm");
    } else {
      jwks.keys.push_back(*std::move(key));
    }
  }
  return jwks;
}

}  // namespace outbox::service
