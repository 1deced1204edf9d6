#include "service/auth/authenticator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/auth/auth_stage.h"
#include "tests/support/matchers.h"

namespace outbox::service {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string StageToken(const ForgeJson& claims) {
  return HsToken(kStageSecret, HsHeader().Text(), claims.Text());
}

TEST(Authenticator, SaysWhoIsAsking) {
  const auto authenticator = AuthStage().Open();
  ASSERT_NE(authenticator, nullptr);
  const auto who = authenticator->Check(
      StageToken(GoodClaims().With("permissions", R"(["messages:delete","messages:read"])")));
  ASSERT_OK(who);
  EXPECT_EQ(who->subject, "ann");
  EXPECT_EQ(who->tenant, Uuid::Parse(kStageTenant));
  EXPECT_THAT(who->permissions, ElementsAre("messages:delete", "messages:read", "messages:write"));
  EXPECT_TRUE(who->Has("messages:delete"));
  EXPECT_FALSE(who->Has("messages"));
  EXPECT_FALSE(who->operator_scope);
  EXPECT_FALSE(who->unrestricted);
  EXPECT_EQ(who->expires, Timestamp(std::chrono::seconds(kStageNow + 600)));
  EXPECT_TRUE(authenticator->required());
  EXPECT_TRUE(authenticator->ready());
}

TEST(Authenticator, TenantAndPermissionsAreOptional) {
  const auto authenticator = AuthStage().Open();
  const auto who =
      authenticator->Check(StageToken(GoodClaims().With("tenant", "").With("scope", "")));
  ASSERT_OK(who);
  EXPECT_EQ(who->tenant, std::nullopt);
  EXPECT_THAT(who->permissions, IsEmpty());
  EXPECT_OK(authenticator->Check(StageToken(GoodClaims().With("scope", R"("")"))));
}

TEST(Authenticator, TheOperatorHasAScopeOfItsOwn) {
  const auto authenticator = AuthStage().Open();
  const auto scope = [&](const std::string& text) {
    const auto who = authenticator->Check(StageToken(GoodClaims().With("scope", text)));
    EXPECT_OK(who);
    return who.ok() && who->operator_scope;
  };
  EXPECT_TRUE(scope(R"("a outboxd:operator b")"));
  EXPECT_TRUE(scope(R"(["outboxd:operator"])"));
  EXPECT_FALSE(scope(R"("outboxd:operators")"));
  EXPECT_FALSE(scope(R"("OUTBOXD:OPERATOR")"));
}

TEST(Authenticator, NamesOfClaimsCanBeChosen) {
  AuthStage stage;
  stage.options.claims = {
      .tenant = "https://example.com/org", .scope = "scp", .permissions = "roles"};
  stage.options.operator_scope = "admin";
  const auto authenticator = stage.Open();
  const auto who = authenticator->Check(
      StageToken(GoodClaims()
                     .With("tenant", R"("not read")")
                     .With("scope", "7")
                     .And("https://example.com/org", base::JsonQuote(kStageTenant))
                     .And("scp", R"(["x"])")
                     .And("roles", R"("admin y")")));
  ASSERT_OK(who);
  EXPECT_TRUE(who->tenant.has_value());
  EXPECT_THAT(who->permissions, ElementsAre("admin", "x", "y"));
  EXPECT_TRUE(who->operator_scope);
}

TEST(Authenticator, TakesEachAlgorithmWithAndWithoutKid) {
  const auto authenticator = AuthStage().Open();
  const std::string claims = GoodClaims().Text();
  for (const char* kid : {"with", ""}) {
    const auto header = [&](const ForgeJson& full) {
      return (*kid == '\0' ? full.With("kid", "") : full).Text();
    };
    EXPECT_OK(authenticator->Check(HsToken(kStageSecret, header(HsHeader()), claims)));
    EXPECT_OK(authenticator->Check(KeyToken(StageRsa(), header(RsHeader()), claims)));
    EXPECT_OK(authenticator->Check(KeyToken(StageEc(), header(EsHeader()), claims)));
  }
}

TEST(Authenticator, ATokenWithoutKidIsRefusedWhenSeveralKeysCouldBeMeant) {
  AuthStage stage;
  stage.options.secrets.push_back(
      {.file = stage.Write("second", std::string(40, '2')), .kid = "hs2"});
  const auto authenticator = stage.Open();
  const auto refused = authenticator->Check(
      HsToken(kStageSecret, HsHeader().With("kid", "").Text(), GoodClaims().Text()));
  EXPECT_EQ(refused.error().message(), "the token does not say which key it is signed with");
  EXPECT_OK(authenticator->Check(StageToken(GoodClaims())));
}

TEST(Authenticator, AKeyWithoutANameIsNotAskedForByName) {
  AuthStage stage;
  stage.options.secrets[0].kid.clear();
  const auto authenticator = stage.Open();
  EXPECT_EQ(authenticator->Check(StageToken(GoodClaims())).error().message(),
            "the key of the token is unknown");
  EXPECT_OK(authenticator->Check(
      HsToken(kStageSecret, HsHeader().With("kid", "").Text(), GoodClaims().Text())));
}

TEST(Authenticator, ASecondSignatureIsNotASecondIdentity) {
  const auto authenticator = AuthStage().Open();
  const std::string text = SignedText(EsHeader().Text(), GoodClaims().Text());
  const auto first = authenticator->Check(TokenOf(text, StageEc().Sign(text)));
  const auto flipped = authenticator->Check(TokenOf(text, StageEc().Flip(text)));
  ASSERT_OK(first);
  ASSERT_OK(flipped);
  EXPECT_EQ(first->issuer, "outboxd");
  EXPECT_EQ(first->issuer, flipped->issuer);
  EXPECT_EQ(first->subject, flipped->subject);
  EXPECT_EQ(first->tenant, flipped->tenant);
}

TEST(Authenticator, TheLeewayIsAsSet) {
  AuthStage stage;
  stage.options.leeway = std::chrono::seconds(0);
  stage.now = kStageNow + 600;
  EXPECT_EQ(stage.Open()->Check(StageToken(GoodClaims())).error().message(),
            "the token has expired");
  stage.now = kStageNow + 599;
  EXPECT_OK(stage.Open()->Check(StageToken(GoodClaims())));
  stage.options.leeway = std::chrono::seconds(60);
  stage.now = kStageNow + 659;
  EXPECT_OK(stage.Open()->Check(StageToken(GoodClaims())));
  stage.options.leeway = std::chrono::seconds(61);
  EXPECT_EQ(stage.Open(), nullptr);
}

TEST(Authenticator, WithoutAuthenticationEverybodyMayDoEverything) {
  const auto authenticator = Authenticator::Open({.none = true});
  ASSERT_OK(authenticator);
  EXPECT_FALSE((*authenticator)->required());
  const auto who = (*authenticator)->Check("");
  ASSERT_OK(who);
  EXPECT_TRUE(who->Has("anything"));
  EXPECT_TRUE(who->operator_scope);
}

TEST(Authenticator, OpenNamesEveryKeyThatCanNotBeUsed) {
  AuthStage stage;
  stage.options.secrets = {{.file = stage.Write("short", "canary-too-short\n")},
                           {.env = "OUTBOX_TEST_NO_SUCH_VARIABLE"}};
  stage.options.public_keys = {{.file = stage.Write("private.pem", StageEc().PrivatePem())},
                               {.file = stage.folder.File("absent.pem")}};
  stage.options.jwks_file = stage.Write("jwks.json", "[]");
  const auto opened = Authenticator::Open(stage.options);
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().message(),
              AllOf(HasSubstr("/short has 16 bytes"), HasSubstr("OUTBOX_TEST_NO_SUCH_VARIABLE"),
                    HasSubstr("private.pem holds a private key"), HasSubstr("absent.pem"),
                    HasSubstr("jwks.json is not a JSON object")));
  EXPECT_THAT(opened.error().message(), Not(HasSubstr("canary")));
}

}  // namespace
}  // namespace outbox::service
