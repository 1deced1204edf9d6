#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/auth/jwks_address.h"
#include "service/auth/options.h"
#include "tests/support/matchers.h"

namespace outbox::service {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

AuthOptions WithSecret() { return {.secrets = {{.file = "secret"}}}; }

TEST(AuthOptions, AreFineByDefaultOnceThereIsAKey) {
  EXPECT_OK(WithSecret().Validate());
  EXPECT_THAT(AuthOptions{}.Problems(), ElementsAre(StartsWith("keys: there is none")));
}

TEST(AuthOptions, AuthenticationIsOffOnlyWhenAskedForAndWithoutKeys) {
  EXPECT_OK((AuthOptions{.none = true}).Validate());
  AuthOptions both = WithSecret();
  both.none = true;
  EXPECT_THAT(both.Problems(), ElementsAre(StartsWith("none: ")));
}

TEST(AuthOptions, ListEveryProblemAtOnce) {
  AuthOptions options{.issuers = {},
                      .audiences = {""},
                      .leeway = std::chrono::seconds(61),
                      .claims = {.tenant = "sub", .scope = "a b"},
                      .operator_scope = "",
                      .token_size_max = 1 << 20,
                      .secrets = {{.file = "a", .env = "B", .kid = "k"}, {.kid = "k"}},
                      .public_keys = {{.kid = "with space"}},
                      .jwks_url = "http://idp.example/jwks",
                      .jwks_interval = std::chrono::seconds(1)};
  const Status status = options.Validate();
  EXPECT_THAT(status, HasCode(Code::kInvalidArgument));
  for (const char* field :
       {"issuers: ", "audiences: ", "leeway: 61s is not between 0s and 60s", "claims.tenant: sub",
        "claims.scope: ", "operator_scope: ", "token_size_max: ", "secrets[0]: ", "secrets[1]: ",
        "secrets[1].kid: k is there twice",
        "public_keys[0].file: ", "public_keys[0].kid: ", "jwks_url: ", "jwks_interval: 1s"}) {
    EXPECT_THAT(status.message(), HasSubstr(field));
  }
}

TEST(JwksAddress, IsHttpsOrThisMachine) {
  for (const char* good :
       {"https://idp.example/jwks", "https://10.0.0.1:8443/a?b=c", "http://localhost:80/",
        "http://127.0.0.1/x", "http://127.9.9.9/", "http://[::1]:8080/jwks"}) {
    SCOPED_TRACE(good);
    EXPECT_OK(ParseJwksAddress(good));
  }
  for (const char* bad :
       {"", "idp.example", "file:///etc/passwd", "ftp://idp.example/", "http://idp.example/",
        "http://10.0.0.1/", "http://localhost.example/", "http://[::ffff:10.0.0.1]/",
        "https://user:secret@idp.example/", "https://idp.example/#x", "gopher://127.0.0.1/"}) {
    const auto address = ParseJwksAddress(bad);
    EXPECT_THAT(address, HasCode(Code::kInvalidArgument)) << bad;
    EXPECT_EQ(address.error().message().find("secret"), std::string::npos);
  }
  // Spellings of 127.0.0.1 and of others: curl reads them as numbers.
  EXPECT_OK(ParseJwksAddress("http://2130706433/"));
  EXPECT_THAT(ParseJwksAddress("http://167772161/"), HasCode(Code::kInvalidArgument));
}

}  // namespace
}  // namespace outbox::service
