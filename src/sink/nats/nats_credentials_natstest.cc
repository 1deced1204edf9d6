// The ways to log in, each against a server that demands it: what is right gets in, what is wrong
// is refused with a clear error that holds no secret.
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <fstream>

#include "base/handle.h"
#include "base/text.h"
#include "sink/nats/nats_sink.h"
#include "sink/nats/nkey.h"
#include "tests/support/matchers.h"
#include "tests/support/server.h"
#include "tests/support/temp_folder.h"

namespace outbox::sink {
namespace {

using base::StrCat;
using testing::Server;
using testing::TempFolder;

// Somebody with a key: an operator, an account or a user.
class Identity {
 public:
  explicit Identity(NkeyKind kind) : kind_(kind) {
    RAND_bytes(private_.data(), static_cast<int>(private_.size()));
    key_.reset(
        EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, private_.data(), private_.size()));
    NkeyBytes bytes{};
    std::size_t size = bytes.size();
    EVP_PKEY_get_raw_public_key(key_.get(), bytes.data(), &size);
    public_ = EncodeNkey(kind, bytes);
  }

  const std::string& public_key() const { return public_; }
  std::string Seed() const { return EncodeNkeySeed(kind_, private_); }

  // What this one says about another (or about itself), signed, as `nsc` would write it.
  std::string Claim(const Identity& about, const std::string& nats) const {
    const std::string text = StrCat(
        Base64Url(R"({"typ":"JWT","alg":"ed25519-nkey"})"), ".",
        Base64Url(StrCat(R"({"jti":"1","iat":1,"iss":")", public_, R"(","name":"test","sub":")",
                         about.public_, R"(","nats":{"version":2,)", nats, "}}")));
    std::string signature(64, '\0');
    std::size_t size = signature.size();
    const base::UniqueHandle<EVP_MD_CTX, EVP_MD_CTX_free> context(EVP_MD_CTX_new());
    EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get());
    EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                   reinterpret_cast<const unsigned char*>(text.data()), text.size());
    return StrCat(text, ".", Base64Url(signature));
  }

 private:
  static std::string Base64Url(const std::string& bytes) {
    std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
    text.resize(static_cast<std::size_t>(EVP_EncodeBlock(
        reinterpret_cast<unsigned char*>(text.data()),
        reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()))));
    while (text.ends_with('=')) text.pop_back();
    for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
    return text;
  }

  NkeyKind kind_;
  NkeyBytes private_{};
  base::UniqueHandle<EVP_PKEY, EVP_PKEY_free> key_;
  std::string public_;
};

class NatsCredentials : public ::testing::Test {
 protected:
  void SetUp() override { OUTBOX_REQUIRE_PROGRAM("nats-server"); }

  void StartServer(const std::string& config) {
    server_ = Server::Start({.command = {"nats-server", "-c", "{folder}/nats.conf"},
                             .files = {{"nats.conf", "listen: 127.0.0.1:{port}\n" + config}}});
    ASSERT_NE(server_, nullptr);
  }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.File(name)) << text;
    return folder_.File(name);
  }
  static std::string Credentials(const std::string& jwt, const std::string& seed) {
    return StrCat("-----BEGIN NATS USER JWT-----\n", jwt, "\n------END NATS USER JWT------\n\n",
                  "-----BEGIN USER NKEY SEED-----\n", seed, "\n------END USER NKEY SEED------\n");
  }
  Status Open(const std::string& user, const std::string& options) const {
    const auto sink = MakeNatsSink(
        SinkUri::Parse(StrCat("nats://", user, "127.0.0.1:", server_->port(), options)).value());
    return sink.ok() ? (*sink)->Open(Deadline::After(std::chrono::seconds(30))) : sink.error();
  }
  void ExpectRefused(const std::string& user, const std::string& options,
                     const std::string& secret) const {
    const Status status = Open(user, options);
    EXPECT_EQ(status.code(), Code::kPermission) << options << ": " << status.ToString();
    EXPECT_EQ(status.disposition(), Disposition::kSinkDown);
    EXPECT_THAT(status.hint(), ::testing::Not(::testing::IsEmpty()));
    EXPECT_THAT(status.ToString() + status.hint(), ::testing::Not(::testing::HasSubstr(secret)));
  }

  const TempFolder folder_;
  std::unique_ptr<Server> server_;
};

TEST_F(NatsCredentials, UserAndPasswordOrAUsersKey) {
  const Identity user(NkeyKind::kUser);
  const Identity stranger(NkeyKind::kUser);
  StartServer(StrCat("authorization { users = [ { user: app, password: secret }, { nkey: ",
                     user.public_key(), " } ] }\n"));
  EXPECT_OK(Open("app:secret@", ""));
  EXPECT_OK(Open("app@", "?password_file=" + Write("password", "secret\n")));
  EXPECT_OK(Open("", "?nkey=" + Write("user.nk", user.Seed())));

  ExpectRefused("app:hunter2@", "", "hunter2");
  ExpectRefused("app@", "?password_file=" + Write("wrong", "hunter2"), "hunter2");
  ExpectRefused("", "", "secret");
  ExpectRefused("", "?token=hunter2", "hunter2");
  ExpectRefused("", "?nkey=" + Write("stranger.nk", stranger.Seed()), stranger.Seed());
  ExpectRefused("", "?nkey=" + folder_.File("absent"), "secret");
  ExpectRefused("", "?nkey=" + Write("broken.nk", user.Seed() + "A"), user.Seed());
}

TEST_F(NatsCredentials, AToken) {
  StartServer("authorization { token: secret }\n");
  EXPECT_OK(Open("", "?token=secret"));
  EXPECT_OK(Open("", "?token_file=" + Write("token", "secret\n")));
  ExpectRefused("", "?token=hunter2", "hunter2");
  ExpectRefused("app:hunter2@", "", "hunter2");
  ExpectRefused("", "", "secret");
}

TEST_F(NatsCredentials, ACredentialsFile) {
  const Identity root(NkeyKind::kOperator);
  const Identity account(NkeyKind::kAccount);
  const Identity user(NkeyKind::kUser);
  const Identity stranger(NkeyKind::kUser);
  StartServer(StrCat(
      "operator: ", root.Claim(root, R"("type":"operator")"),
      "\nresolver: MEMORY\nresolver_preload: { ", account.public_key(), ": ",
      root.Claim(account, R"("type":"account","limits":{"subs":-1,"data":-1,"payload":-1,)"
                          R"("imports":-1,"exports":-1,"wildcards":true,"conn":-1,"leaf":-1})"),
      " }\n"));
  const std::string may = R"("type":"user","pub":{},"sub":{},"subs":-1,"data":-1,"payload":-1)";
  const std::string jwt = account.Claim(user, may);
  EXPECT_OK(Open("", "?creds=" + Write("user.creds", Credentials(jwt, user.Seed()))));

  ExpectRefused("", "?creds=" + Write("key.creds", Credentials(jwt, stranger.Seed())),
                stranger.Seed());
  const std::string forged = stranger.Claim(user, may);
  ExpectRefused("", "?creds=" + Write("jwt.creds", Credentials(forged, user.Seed())), user.Seed());
  ExpectRefused("", "?creds=" + Write("no.creds", "hunter2"), "hunter2");
  ExpectRefused("", "?creds=" + Write("jwtless.creds", user.Seed()), user.Seed());
  ExpectRefused("", "?creds=" + folder_.File("absent"), "secret");
  ExpectRefused("app:hunter2@", "", "hunter2");
}

}  // namespace
}  // namespace outbox::sink
