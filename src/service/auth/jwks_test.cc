#include "service/auth/jwks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "service/auth/auth_stage.h"
#include "service/auth/jwks_file.h"
#include "tests/support/matchers.h"
#include "tests/support/wait.h"

namespace outbox::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string OctKey(const std::string& kid, std::size_t bytes = 32) {
  return base::StrCat(R"({"kty":"oct","kid":")", kid, R"(","k":")",
                      Base64UrlEncode(std::string(bytes, 'k')), R"("})");
}

TEST(Jwks, ReadsKeysThatCheckSignatures) {
  const ForgeKey& rsa = StageRsa();
  const ForgeKey& ec = StageEc();
  const auto jwks = ParseJwks(JwksOf({rsa.Jwk("r"), ec.Jwk("e")}), JwksOrigin::kRemote);
  ASSERT_OK(jwks);
  EXPECT_THAT(jwks->skipped, IsEmpty());
  ASSERT_THAT(jwks->keys, SizeIs(2));
  EXPECT_EQ(jwks->keys[0].kid(), "r");
  EXPECT_EQ(jwks->keys[0].algorithm(), Algorithm::kRs256);
  EXPECT_TRUE(jwks->keys[0].Verify("text", rsa.Sign("text")));
  EXPECT_EQ(jwks->keys[1].algorithm(), Algorithm::kEs256);
  EXPECT_TRUE(jwks->keys[1].Verify("text", ec.Sign("text")));
  EXPECT_FALSE(jwks->keys[1].Verify("text", ForgeKey::Ec().Sign("text")));
}

TEST(Jwks, LeavesOutWhatCanNotBeUsedAndTellsWhy) {
  const std::string rsa = StageRsa().JwkMembers(), ec = StageEc().JwkMembers();
  const std::string good = StageEc().Jwk("good");
  struct Case {
    std::string key;
    std::string why;
  };
  const std::vector<Case> cases{
      {"{" + ec + R"(,"use":"enc"})", "is not for signatures (use)"},
      {"{" + ec + R"(,"use":7})", "is not for signatures (use)"},
      {"{" + ec + R"(,"key_ops":["sign"]})", "is not for verifying (key_ops)"},
      {"{" + ec + R"(,"alg":"ES512"})", "is for another algorithm (alg)"},
      {"{" + rsa + R"(,"alg":"PS256"})", "is for another algorithm (alg)"},
      {"{" + rsa + R"(,"alg":"HS256"})", "is for another algorithm (alg)"},
      {"{" + ec + R"(,"d":"AAAA"})", "is a private key"},
      {"{" + rsa + R"(,"d":"AAAA"})", "is a private key"},
      {"{" + ec + R"(,"kid":7})", "has a kid that is not text"},
      {"{" + ForgeKey::Rsa(1024).JwkMembers() + "}",
       "has an RSA key of 1024 bits, not 2048 to 8192"},
      {R"({"kty":"EC","crv":"P-384","x":"AA","y":"AA"})", "is not of P-256 (crv)"},
      {R"({"kty":"EC","crv":"P-256","x":"AA","y":"AA"})",
       "has coordinates that are not 32 bytes long"},
      {R"({"kty":"EC","crv":"P-256","x":"A=","y":"AA"})", "has no x and y in base64url"},
      {R"({"kty":"RSA","n":"AQAB"})", "has no n and e in base64url"},
      {R"({"kty":"OKP","crv":"Ed25519","x":"AA"})", "is of a kind that is not supported (kty)"},
      {R"({"n":"AQAB"})", "is of a kind that is not supported (kty)"},
      {R"("text")", "is not an object"},
      {OctKey("o"), "is a secret that others can read"},
      {good, "an earlier key has the same kid and algorithm"},
  };
  for (const Case& each : cases) {
    const auto jwks = ParseJwks(JwksOf({good, each.key}), JwksOrigin::kRemote);
    ASSERT_OK(jwks);
    EXPECT_THAT(jwks->keys, SizeIs(1)) << each.key;
    ASSERT_THAT(jwks->skipped, SizeIs(1)) << each.key;
    EXPECT_THAT(jwks->skipped[0], ::testing::EndsWith(": " + each.why));
    EXPECT_THAT(jwks->skipped[0], StartsWith("key 2"));
  }
}

TEST(Jwks, SecretsAreForFilesOnly) {
  const auto local = ParseJwks(JwksOf({OctKey("o")}), JwksOrigin::kLocal);
  ASSERT_OK(local);
  ASSERT_THAT(local->keys, SizeIs(1));
  EXPECT_EQ(local->keys[0].algorithm(), Algorithm::kHs256);
  EXPECT_THAT(ParseJwks(JwksOf({OctKey("o")}), JwksOrigin::kRemote)->keys, IsEmpty());
  EXPECT_THAT(ParseJwks(JwksOf({OctKey("o", 31)}), JwksOrigin::kLocal)->keys, IsEmpty());
}

TEST(Jwks, IsBounded) {
  std::vector<std::string> keys;
  for (int i = 0; i < 100; ++i) keys.push_back(StageEc().Jwk(base::StrCat("k", i)));
  const auto jwks = ParseJwks(JwksOf(keys), JwksOrigin::kRemote);
  ASSERT_OK(jwks);
  EXPECT_THAT(jwks->keys, SizeIs(kKeysMax));
  EXPECT_THAT(jwks->skipped, ElementsAre(HasSubstr("more than 64 keys")));
  std::vector<std::string> bad(100, "{}");
  EXPECT_THAT(ParseJwks(JwksOf(bad), JwksOrigin::kRemote)->skipped, SizeIs(16));
  EXPECT_THAT(ParseJwks(JwksOf({}) + std::string(kJwksBytesMax, ' '), JwksOrigin::kRemote),
              HasCode(Code::kInvalidArgument));
}

TEST(Jwks, RefusesWhatIsNoKeySet) {
  for (const char* text :
       {"", "null", "[]", "{}", R"({"keys":{}})", "<html>", R"({"keys":[],"keys":[]})",
        R"({"keys":[]} )"
        "x"}) {
    EXPECT_THAT(ParseJwks(text, JwksOrigin::kRemote), HasCode(Code::kInvalidArgument)) << text;
  }
  EXPECT_OK(ParseJwks(R"({"keys":[]})", JwksOrigin::kRemote));
}

class JwksFileTest : public ::testing::Test {
 protected:
  // As tools do it that care: in one step.
  void Replace(const std::string& text) {
    stage_.Write("jwks.new", text);
    std::filesystem::rename(stage_.folder.File("jwks.new"), stage_.folder.File("jwks"));
  }
  static bool HasKid(JwksFile& file, const std::string& kid) {
    const auto keys = file.Keys();
    return std::any_of(keys->begin(), keys->end(),
                       [&](const VerificationKey& key) { return key.kid() == kid; });
  }

  const AuthStage stage_;
  std::vector<std::string> notices_;
  const Notice notice_ = [this](std::string_view text) { notices_.emplace_back(text); };
};

TEST_F(JwksFileTest, IsReadAgainWhenItChanges) {
  Replace(JwksOf({StageEc().Jwk("old")}));
  const auto file = JwksFile::Open(stage_.folder.File("jwks"), notice_);
  ASSERT_OK(file);
  EXPECT_TRUE(HasKid(**file, "old"));
  Replace(JwksOf({StageEc().Jwk("new")}));
  // At once for an unknown kid, else after a while: a key that is gone is no longer trusted.
  (*file)->Refresh({});
  EXPECT_TRUE(HasKid(**file, "new"));
  EXPECT_FALSE(HasKid(**file, "old"));
  Replace(JwksOf({StageEc().Jwk("newest")}));
  EXPECT_TRUE(testing::WaitFor([&] { return HasKid(**file, "newest"); }));
  EXPECT_THAT(notices_, IsEmpty());
}

TEST_F(JwksFileTest, OldKeysStayWhenTheNewAreUnusable) {
  Replace(JwksOf({StageEc().Jwk("old")}));
  const auto file = JwksFile::Open(stage_.folder.File("jwks"), notice_);
  ASSERT_OK(file);
  const auto look = [&] {
    (*file)->Refresh({});
    return HasKid(**file, "old");
  };
  Replace("half a fi");
  EXPECT_TRUE(look());
  EXPECT_TRUE(look());
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("jwks is not JSON; the old keys stay in use")));
  std::filesystem::remove(stage_.folder.File("jwks"));
  EXPECT_TRUE(look());
  EXPECT_THAT(notices_, SizeIs(2));
  Replace(JwksOf({StageEc().Jwk("new")}));
  EXPECT_FALSE(look());
  EXPECT_TRUE(HasKid(**file, "new"));
}

TEST_F(JwksFileTest, TellsOnceWhatIsLeftOut) {
  Replace(JwksOf({StageEc().Jwk("a"), R"({"kty":"OKP","kid":"b"})"}));
  const auto file = JwksFile::Open(stage_.folder.File("jwks"), notice_);
  ASSERT_OK(file);
  (*file)->Refresh({});
  EXPECT_TRUE(HasKid(**file, "a"));
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("left out key 2 (kid b): is of a kind")));
}

TEST_F(JwksFileTest, ServesTheAuthenticator) {
  AuthStage stage;
  stage.options.secrets.clear();
  stage.options.public_keys.clear();
  stage.options.jwks_file = stage.Write("jwks", JwksOf({StageEc().Jwk("first")}));
  const auto authenticator = stage.Open();
  ASSERT_NE(authenticator, nullptr);
  const ForgeKey next = ForgeKey::Ec();
  const std::string token =
      KeyToken(next, EsHeader().With("kid", R"("next")").Text(), GoodClaims().Text());
  EXPECT_THAT(authenticator->Check(token), HasCode(Code::kPermission));
  stage.Write("jwks", JwksOf({StageEc().Jwk("first"), next.Jwk("next")}));
  EXPECT_OK(authenticator->Check(token));
}

}  // namespace
}  // namespace outbox::service
