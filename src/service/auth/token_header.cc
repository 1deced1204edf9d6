#include "service/auth/token_header.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "service/auth/base64url.h"
#include "service/auth/refusal.h"
#include "service/auth/strict_json.h"

namespace outbox::service {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kKidBytesMax = 256;
constexpr JsonLimits kHeaderLimits{.depth_max = 4, .values_max = 64};
// They bring a key along, or say where to fetch one.
constexpr std::array<const char*, 4> kForeignKeys{"jku", "jwk", "x5u", "x5c"};
constexpr std::array<std::string_view, 3> kTypes{"jwt", "at+jwt", "application/at+jwt"};

std::string LowerAscii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

Status CheckType(const Json& header) {
  const auto type = header.find("typ");
  if (type == header.end()) return Status::Ok();
  const bool known = type->is_string() &&
                     std::find(kTypes.begin(), kTypes.end(),
                               LowerAscii(type->get_ref<const std::string&>())) != kTypes.end();
  return known ? Status::Ok() : RefuseToken("the type of the token is not accepted");
}

Status CheckExtensions(const Json& header) {
  for (const char* name : kForeignKeys) {
    if (header.contains(name)) {
      return RefuseToken(base::StrCat("the token brings its own key (", name, ")"));
    }
  }
  if (const auto critical = header.find("crit"); critical != header.end()) {
    if (!critical->is_array() || !critical->empty()) {
      return RefuseToken("the token has critical extensions (crit)");
    }
  }
  if (const auto encoded = header.find("b64"); encoded != header.end() && *encoded != Json(true)) {
    return RefuseToken("the payload of the token is not encoded (b64)");
  }
  if (header.contains("cty")) return RefuseToken("the token holds another token (cty)");
  if (header.contains("enc") || header.contains("zip")) {
    return RefuseToken("the token is encrypted or compressed");
  }
  return Status::Ok();
}

Result<std::string> ReadKid(const Json& header) {
  const auto kid = header.find("kid");
  if (kid == header.end()) return std::string();
  if (!kid->is_string()) return RefuseToken("the kid of the token is not text");
  const auto& text = kid->get_ref<const std::string&>();
  const bool plain =
      std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
  if (text.empty() || text.size() > kKidBytesMax || !plain) {
    return RefuseToken("the kid of the token is malformed");
  }
  return text;
}

}  // namespace

Result<TokenParts> SplitToken(std::string_view token) {
  if (token.empty()) return RefuseToken("the token is empty");
  const std::size_t first = token.find('.');
  const std::size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos) {
    return RefuseToken("the token does not have three parts");
  }
  TokenParts parts{.header = token.substr(0, first),
                   .payload = token.substr(first + 1, second - first - 1),
                   .signed_text = token.substr(0, second)};
  const std::string_view signature = token.substr(second + 1);
  if (signature.empty()) return RefuseToken("the token is not signed");
  auto bytes = Base64UrlDecode(signature);
  if (!bytes) return RefuseToken("the signature of the token is not base64url");
  parts.signature = *std::move(bytes);
  return parts;
}

Result<TokenHeader> ReadTokenHeader(std::string_view text) {
  const auto bytes = Base64UrlDecode(text);
  if (!bytes) return RefuseToken("the header of the token is not base64url");
  const auto header = ParseStrictJson(*bytes, kHeaderLimits);
  if (!header.ok()) {
    return RefuseToken(base::StrCat("the header of the token ", header.error().message()));
  }
  const auto name = header->find("alg");
  const auto algorithm = name == header->end() || !name->is_string()
                             ? std::nullopt
                             : ParseAlgorithm(name->get_ref<const std::string&>());
  if (!algorithm) return RefuseToken("the algorithm of the token is not accepted");
  OUTBOX_RETURN_IF_ERROR(CheckType(*header));
  OUTBOX_RETURN_IF_ERROR(CheckExtensions(*header));
  OUTBOX_ASSIGN_OR_RETURN(std::string kid, ReadKid(*header));
  return TokenHeader{.algorithm = *algorithm, .kid = std::move(kid)};
}

}  // namespace outbox::service
