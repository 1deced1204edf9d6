// `outboxd token`: what it makes is accepted by the service, and the secret stays where it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "service/auth/authenticator.h"
#include "tests/support/matchers.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace outbox::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kTenant = "0190b6a0-7c1e-7abc-8def-0123456789ab";

class TokenTest : public ::testing::Test {
 protected:
  static Finished Token(std::vector<std::string> arguments,
                        std::map<std::string, std::string> environment = {}) {
    arguments.insert(arguments.begin(), {OUTBOXD_PATH, "token"});
    return Process::Run(arguments, {.environment = std::move(environment)});
  }
  static void ExpectUsage(const std::vector<std::string>& arguments, const std::string& message) {
    const Finished finished = Token(arguments);
    EXPECT_EQ(finished.exit_code, 2) << message;
    EXPECT_THAT(finished.standard_error, AllOf(HasSubstr("outboxd: "), HasSubstr(message)));
    EXPECT_THAT(finished.standard_output, IsEmpty());
  }
  std::string NewSecret() const {
    const Finished made = Token({"--new-secret", path_});
    EXPECT_EQ(made.exit_code, 0) << made.standard_error;
    return ReadSecret();
  }
  std::string ReadSecret() const {
    std::string text;
    std::getline(std::ifstream(path_), text);
    return text;
  }
  Result<service::Principal> Check(std::string token) const {
    while (token.ends_with('\n')) token.pop_back();
    auto authenticator = service::Authenticator::Open({.secrets = {{.file = path_}}});
    return authenticator.ok() ? (*authenticator)->Check(token) : authenticator.error();
  }

  const TempFolder folder_;
  const std::string path_ = folder_.File("secret");
};

TEST_F(TokenTest, IsAcceptedByTheService) {
  const std::string secret = NewSecret();
  const Finished made = Token({"--secret-file", path_, "--tenant", kTenant, "--subject", "ann",
                               "--permissions", "a:read,a:write"});
  ASSERT_EQ(made.exit_code, 0) << made.standard_error;
  EXPECT_THAT(made.standard_output + made.standard_error, Not(HasSubstr(secret)));
  const auto who = Check(made.standard_output);
  ASSERT_OK(who);
  EXPECT_EQ(who->subject, "ann");
  EXPECT_EQ(who->tenant, Uuid::Parse(kTenant));
  EXPECT_TRUE(who->Has("a:read") && who->Has("a:write"));
  EXPECT_FALSE(who->operator_scope);

  const Finished json =
      Token({"--secret-env", "TOKEN_SECRET", "--operator", "--ttl", "10m", "--json"},
            {{"TOKEN_SECRET", secret}});
  ASSERT_EQ(json.exit_code, 0) << json.standard_error;
  const auto answer = nlohmann::json::parse(json.standard_output);
  EXPECT_THAT(answer.at("expires").get<std::string>(), HasSubstr("T"));
  const auto operator_who = Check(answer.at("token"));
  ASSERT_OK(operator_who);
  EXPECT_TRUE(operator_who->operator_scope);
  EXPECT_EQ(operator_who->tenant, std::nullopt);

  // One signed with another secret is not.
  const Finished other = Token({"--secret-env", "TOKEN_SECRET", "--operator"},
                               {{"TOKEN_SECRET", std::string(43, 'x')}});
  EXPECT_EQ(other.exit_code, 0);
  EXPECT_FALSE(Check(other.standard_output).ok());
}

TEST_F(TokenTest, ANewSecretIsItsOwnersAlone) {
  const std::string secret = NewSecret();
  struct stat info {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  const Finished again = Token({"--new-secret", path_});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.standard_error, AllOf(HasSubstr("exists already"), HasSubstr("hint: ")));
  EXPECT_EQ(ReadSecret(), secret);
}

TEST_F(TokenTest, SaysWhatIsMissingOrWrong) {
  NewSecret();
  ExpectUsage({"--tenant", kTenant}, "give one of --secret-file and --secret-env");
  ExpectUsage({"--secret-file", path_}, "neither --tenant nor --operator");
  ExpectUsage({"--secret-file", path_, "--tenant", "acme"}, "--tenant: is not a UUID");
  ExpectUsage({"--secret-file", path_, "--operator", "--ttl", "25h"}, "--ttl: is more than 24h");
  ExpectUsage({"--secret-file", path_, "--operator", "--ttl", "0"}, "--ttl: must be at least 1s");
  ExpectUsage({"--secret-file", path_, "--operator", "--permissions", "a b"}, "--permissions: ");
  ExpectUsage({"--secret-file", path_, "--secret-env", "X", "--operator"}, "excludes");
  ExpectUsage({"--secret", "on-the-command-line", "--operator"}, "--secret");
  const Finished forced = Token({"--secret-file", path_, "--operator", "--ttl", "25h", "--force"});
  EXPECT_EQ(forced.exit_code, 0) << forced.standard_error;
  std::ofstream(path_) << "canary-short";
  const Finished weak = Token({"--secret-file", path_, "--operator"});
  EXPECT_EQ(weak.exit_code, 2);
  EXPECT_THAT(weak.standard_error, AllOf(HasSubstr("has 12 bytes"), Not(HasSubstr("canary"))));
}

}  // namespace
}  // namespace outbox::testing
