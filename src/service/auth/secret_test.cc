#include "service/auth/secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "service/auth/auth_stage.h"
#include "service/auth/mint.h"
#include "tests/support/matchers.h"

namespace outbox::service {
namespace {

using ::testing::HasSubstr;

class SecretTest : public ::testing::Test {
 protected:
  std::string File(const std::string& content) {
    std::ofstream(folder_.File("s"), std::ios::binary) << content;
    return folder_.File("s");
  }
  testing::TempFolder folder_;
};

TEST_F(SecretTest, TheLastLineBreakOfATextIsNotPartOfIt) {
  const std::string text(32, 't');
  EXPECT_EQ(*ReadSecretFile(File(text)), text);
  EXPECT_EQ(*ReadSecretFile(File(text + "\n")), text);
  EXPECT_EQ(*ReadSecretFile(File(text + "\r\n")), text);
  EXPECT_EQ(*ReadSecretFile(File(text + "\n\n")), text + "\n");
  EXPECT_EQ(*ReadSecretFile(File(text + " ")), text + " ");
}

TEST_F(SecretTest, BytesAreTakenAsTheyAre) {
  const std::string bytes = std::string(31, '\x80') + "\n";
  EXPECT_EQ(*ReadSecretFile(File(bytes)), bytes);
}

TEST_F(SecretTest, RefusesWhatIsTooShortOrNotThere) {
  EXPECT_THAT(ReadSecretFile(File(std::string(31, 's') + "\n")), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(ReadSecretFile(File(std::string(5000, 's'))), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(ReadSecretFile(folder_.File("absent")), HasCode(Code::kNotFound));
  EXPECT_FALSE(ReadSecretFile(folder_.path()).ok());
  EXPECT_FALSE(ReadSecretFile("/dev/zero").ok());
}

TEST_F(SecretTest, ANewOneIsOnlyItsOwnersAndNeverOverwritten) {
  const std::string path = folder_.File("new");
  ASSERT_OK(CreateSecretFile(path));
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  const auto secret = ReadSecretFile(path);
  ASSERT_OK(secret);
  EXPECT_EQ(Base64UrlDecode(*secret)->size(), 32U);
  EXPECT_THAT(CreateSecretFile(path), HasCode(Code::kConflict));
  EXPECT_EQ(*ReadSecretFile(path), *secret);
  ASSERT_OK(CreateSecretFile(folder_.File("another")));
  EXPECT_NE(*ReadSecretFile(folder_.File("another")), *secret);
  EXPECT_FALSE(CreateSecretFile(folder_.File("no/such/folder")).ok());
}

TEST_F(SecretTest, HmacIsThatOfTheStandard) {
  // RFC 4231, test case 2.
  const std::string mac = HmacSha256("Jefe", "what do ya want for nothing?");
  EXPECT_EQ(Base64UrlEncode(mac), "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM");
}

TEST(Mint, MakesTokensThatAreAccepted) {
  AuthStage stage;
  MintedClaims claims{.subject = "ann \xC3\xA9",
                      .tenant = Uuid::Parse(kStageTenant),
                      .permissions = {"a:read", "b:write"},
                      .operator_scope = true,
                      .issued = Timestamp(std::chrono::seconds(kStageNow)),
                      .expires = Timestamp(std::chrono::seconds(kStageNow + 60))};
  const auto who = stage.Open()->Check(MintToken(claims, kStageSecret, "hs"));
  ASSERT_OK(who);
  EXPECT_EQ(who->subject, claims.subject);
  EXPECT_EQ(who->tenant, claims.tenant);
  EXPECT_TRUE(who->operator_scope);
  EXPECT_TRUE(who->Has("a:read") && who->Has("b:write"));
  EXPECT_EQ(who->expires, claims.expires);
  EXPECT_FALSE(stage.Open()->Check(MintToken(claims, std::string(40, 'x'), "hs")).ok());
}

}  // namespace
}  // namespace outbox::service
