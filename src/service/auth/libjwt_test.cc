// Tokens of an implementation that is not ours, and ours in its hands.
#include <gtest/gtest.h>
#include <jwt.h>

#include <memory>

#include "service/auth/auth_stage.h"
#include "service/auth/mint.h"
#include "tests/support/matchers.h"

namespace outbox::service {
namespace {

struct JwtDeleter {
  void operator()(jwt_t* token) const { jwt_free(token); }
};
using JwtHandle = std::unique_ptr<jwt_t, JwtDeleter>;

const unsigned char* JwtKey(const std::string& key) {
  return reinterpret_cast<const unsigned char*>(key.data());
}

std::string TokenByLibjwt(jwt_alg_t algorithm, const std::string& key, const std::string& kid) {
  jwt_t* raw = nullptr;
  if (jwt_new(&raw) != 0) return "";
  const JwtHandle token(raw);
  jwt_add_header(raw, "kid", kid.c_str());
  jwt_add_grants_json(raw, GoodClaims().Text().c_str());
  if (jwt_set_alg(raw, algorithm, JwtKey(key), static_cast<int>(key.size())) != 0) return "";
  char* text = jwt_encode_str(raw);
  std::string out(text == nullptr ? "" : text);
  std::free(text);
  return out;
}

TEST(Libjwt, ItsTokensAreAccepted) {
  const auto authenticator = AuthStage().Open();
  ASSERT_NE(authenticator, nullptr);
  const std::vector<std::string> tokens{
      TokenByLibjwt(JWT_ALG_HS256, kStageSecret, "hs"),
      TokenByLibjwt(JWT_ALG_RS256, StageRsa().PrivatePem(), "rs"),
      TokenByLibjwt(JWT_ALG_ES256, StageEc().PrivatePem(), "es"),
  };
  for (const std::string& token : tokens) {
    ASSERT_FALSE(token.empty());
    const auto who = authenticator->Check(token);
    ASSERT_OK(who);
    EXPECT_EQ(who->subject, "ann");
    EXPECT_EQ(who->tenant, Uuid::Parse(kStageTenant));
  }
  EXPECT_FALSE(authenticator->Check(TokenByLibjwt(JWT_ALG_HS512, kStageSecret, "hs")).ok());
  EXPECT_FALSE(authenticator->Check(TokenByLibjwt(JWT_ALG_HS256, std::string(40, 'x'), "hs")).ok());
}

TEST(Libjwt, AcceptsOurTokens) {
  const std::string token = MintToken({.subject = "ann"}, kStageSecret, "hs");
  const auto decode = [&](const std::string& secret) {
    jwt_t* raw = nullptr;
    const int result =
        jwt_decode(&raw, token.c_str(), JwtKey(secret), static_cast<int>(secret.size()));
    const JwtHandle decoded(raw);
    if (result != 0) return std::string("refused");
    return std::string(jwt_get_grant(raw, "sub"));
  };
  EXPECT_EQ(decode(kStageSecret), "ann");
  EXPECT_EQ(decode(std::string(40, 'x')), "refused");
}

}  // namespace
}  // namespace outbox::service
