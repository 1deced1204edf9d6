#include "service/auth/options.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "service/auth/jwks_address.h"

namespace outbox::service {
namespace {

using base::StrCat;
using std::chrono::seconds;

constexpr seconds kLeewayMax{60};
constexpr seconds kIntervalMin{10};
constexpr seconds kIntervalMax{24 * 3600};
constexpr std::size_t kTokenSizeMin = 512;
constexpr std::size_t kTokenSizeMax = 64 * 1024;
constexpr std::size_t kNameMax = 256;
constexpr std::size_t kListMax = 32;

// What may stand in a header of an answer, when a refusal names it.
bool IsClaimName(std::string_view text) {
  return !text.empty() && text.size() <= kNameMax &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("_-.:/").find(c) != std::string_view::npos;
         });
}

bool IsPrintable(std::string_view text) {
  return !text.empty() && text.size() <= kNameMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

class ProblemList {
 public:
  void Require(bool holds, std::string problem) {
    if (!holds) problems_.push_back(std::move(problem));
  }
  void RequireList(const std::vector<std::string>& values, std::string_view name) {
    Require(!values.empty() && values.size() <= kListMax,
            StrCat(name, ": 1 to ", kListMax, " are needed, there are ", values.size()));
    Require(std::none_of(values.begin(), values.end(),
                         [](const auto& each) { return each.empty() || each.size() > kNameMax; }),
            StrCat(name, ": one is empty or longer than ", kNameMax, " bytes"));
  }
  void RequireClaimName(const std::string& value, std::string_view name) {
    constexpr std::array<std::string_view, 7> kStandard{"iss", "aud", "exp", "nbf",
                                                        "iat", "sub", "jti"};
    Require(IsClaimName(value), StrCat("claims.", name, ": use letters, digits and _-.:/"));
    Require(std::find(kStandard.begin(), kStandard.end(), value) == kStandard.end(),
            StrCat("claims.", name, ": ", value, " has a meaning of its own"));
  }
  void RequireKid(const std::string& kid, const std::string& where) {
    Require(kid.empty() || IsPrintable(kid),
            StrCat(where, ".kid: use at most ", kNameMax, " printable characters, no spaces"));
  }
  std::vector<std::string> Take() { return std::move(problems_); }

 private:
  std::vector<std::string> problems_;
};

void CheckKeys(const AuthOptions& options, ProblemList& problems) {
  std::set<std::string> kids;
  const auto check_kid = [&](const std::string& kid, const std::string& where) {
    problems.RequireKid(kid, where);
    problems.Require(kid.empty() || kids.insert(kid).second,
                     StrCat(where, ".kid: ", kid, " is there twice"));
  };
  for (std::size_t i = 0; i < options.secrets.size(); ++i) {
    const std::string where = StrCat("secrets[", i, "]");
    problems.Require(options.secrets[i].file.empty() != options.secrets[i].env.empty(),
                     StrCat(where, ": give one of file and env"));
    check_kid(options.secrets[i].kid, where);
  }
  for (std::size_t i = 0; i < options.public_keys.size(); ++i) {
    const std::string where = StrCat("public_keys[", i, "]");
    problems.Require(!options.public_keys[i].file.empty(), StrCat(where, ".file: is required"));
    check_kid(options.public_keys[i].kid, where);
  }
  problems.Require(options.secrets.size() + options.public_keys.size() <= kListMax,
                   StrCat("secrets, public_keys: more than ", kListMax));
}

void CheckJwksUrl(const AuthOptions& options, ProblemList& problems) {
  if (options.jwks_url.empty()) {
    problems.Require(options.jwks_ca.empty(), "jwks_ca: there is no jwks_url");
    return;
  }
  if (const auto address = ParseJwksAddress(options.jwks_url); !address.ok()) {
    problems.Require(false, StrCat("jwks_url: ", address.error().message()));
  }
  problems.Require(
      options.jwks_interval >= kIntervalMin && options.jwks_interval <= kIntervalMax,
      StrCat("jwks_interval: ", base::FormatDuration(options.jwks_interval), " is not between ",
             base::FormatDuration(kIntervalMin), " and ", base::FormatDuration(kIntervalMax)));
}

}  // namespace

std::vector<std::string> AuthOptions::Problems() const {
  ProblemList problems;
  const bool keys =
      !secrets.empty() || !public_keys.empty() || !jwks_file.empty() || !jwks_url.empty();
  problems.Require(!(none && keys), "none: is set, and so are keys; give one or the other");
  problems.Require(none || keys,
                   "keys: there is none to check tokens with; give a secret, a public key, a "
                   "jwks_file or a jwks_url");
  problems.RequireList(issuers, "issuers");
  problems.RequireList(audiences, "audiences");
  problems.Require(
      leeway >= seconds(0) && leeway <= kLeewayMax,
      StrCat("leeway: ", leeway.count(), "s is not between 0s and ", kLeewayMax.count(), "s"));
  problems.RequireClaimName(claims.tenant, "tenant");
  problems.RequireClaimName(claims.scope, "scope");
  problems.RequireClaimName(claims.permissions, "permissions");
  problems.Require(claims.tenant != claims.scope && claims.tenant != claims.permissions,
                   StrCat("claims.tenant: ", claims.tenant, " is the name of another claim too"));
  problems.Require(
      IsPrintable(operator_scope) && operator_scope.find_first_of("\"\\") == std::string::npos,
      "operator_scope: use printable characters, no spaces, quotes or backslashes");
  problems.Require(token_size_max >= kTokenSizeMin && token_size_max <= kTokenSizeMax,
                   StrCat("token_size_max: ", token_size_max, " is not between ", kTokenSizeMin,
                          " and ", kTokenSizeMax));
  CheckKeys(*this, problems);
  CheckJwksUrl(*this, problems);
  return problems.Take();
}

Status AuthOptions::Validate() const {
  const std::vector<std::string> problems = Problems();
  return problems.empty() ? Status::Ok() : Status::Invalid(base::Join(problems, "\n"));
}

}  // namespace outbox::service
