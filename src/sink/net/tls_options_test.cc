#include "sink/net/tls_options.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/support/certificates.h"
#include "tests/support/matchers.h"
#include "tests/support/server.h"

namespace outbox::sink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TlsOptionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_PROGRAM("openssl");
    ASSERT_TRUE(certificates_.ok());
  }

  // The error of an address with these options.
  static Status Read(const std::string& options, const std::string& passphrase = "") {
    const SinkUri uri = SinkUri::Parse("rediss://h?" + options).value();
    OptionReader reader(uri);
    (void)ReadTlsOptions(reader, "", passphrase);
    return reader.Finish();
  }
  std::string File(const std::string& name) const { return certificates_.File(name); }
  std::string Convert(std::vector<std::string> words, const std::string& name) const {
    words.insert(words.begin(), "openssl");
    words.insert(words.end(), {"-out", File(name)});
    EXPECT_EQ(testing::Process::Run(words).exit_code, 0);
    return File(name);
  }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(File(name)) << text;
    return File(name);
  }
  std::string Text(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(File(name)).rdbuf();
    return text.str();
  }

  const testing::Certificates certificates_;
};

TEST_F(TlsOptionsTest, FilesThatFitTogetherAreTaken) {
  EXPECT_OK(Read("tls_ca=" + File("ca.pem")));
  EXPECT_OK(Read("tls_cert=" + File("client.pem") + "&tls_key=" + File("client.key")));
  const std::string both = Write("both.pem", Text("client.key") + Text("client.pem"));
  EXPECT_OK(Read("tls_cert=" + both));
  const std::string bundle = Write("bundle.pem", "# ours\n" + Text("ca.pem") + Text("server.pem"));
  EXPECT_OK(Read("tls_ca=" + bundle));
}

TEST_F(TlsOptionsTest, AFileThatCanNotBeReadIsNamedWithTheReason) {
  const Status absent = Read("tls_ca=/no/such.pem");
  EXPECT_EQ(absent.code(), Code::kInvalidArgument);
  EXPECT_THAT(absent.message(),
              HasSubstr("tls_ca: can not read /no/such.pem: No such file or directory"));
  EXPECT_THAT(absent.hint(), HasSubstr("a PEM file that this user may read"));
  EXPECT_THAT(Read("tls_ca=/tmp").message(), HasSubstr("can not read /tmp: Is a directory"));
  const std::string pipe = File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(Read("tls_ca=" + pipe).message(), HasSubstr("is not a regular file"));
  if (geteuid() == 0) return;  // may read everything
  const std::string secret = Write("secret.pem", Text("ca.pem"));
  ASSERT_EQ(chmod(secret.c_str(), 0), 0);
  EXPECT_THAT(Read("tls_ca=" + secret).message(), HasSubstr("Permission denied"));
}

TEST_F(TlsOptionsTest, AFileOfAnotherFormatIsNamedWithTheRemedy) {
  const std::string der = Convert({"x509", "-in", File("ca.pem"), "-outform", "der"}, "ca.der");
  for (const std::string& file : {der, Write("empty.pem", ""), File("client.key")}) {
    const Status status = Read("tls_ca=" + file);
    EXPECT_THAT(status.message(), HasSubstr("tls_ca: " + file + " has no certificate in PEM"));
    EXPECT_THAT(status.hint(), HasSubstr("openssl x509 -inform der"));
  }
  const std::string cut = Text("ca.pem").substr(0, 200);
  EXPECT_THAT(Read("tls_ca=" + Write("cut.pem", cut)).message(),
              HasSubstr("has a damaged certificate"));
}

TEST_F(TlsOptionsTest, AKeyMustBeThereAndThatOfTheCertificate) {
  const std::string certificate = "tls_cert=" + File("client.pem");
  EXPECT_THAT(Read("tls_key=" + File("client.key")).message(),
              HasSubstr("tls_key: needs tls_cert"));
  EXPECT_THAT(Read(certificate).message(),
              HasSubstr("tls_key: " + File("client.pem") + " has no private key in PEM"));
  EXPECT_THAT(Read(certificate + "&tls_key=/no/such.key").message(),
              HasSubstr("tls_key: can not read /no/such.key: No such file"));
  EXPECT_THAT(Read(certificate + "&tls_key=" + File("server.key")).message(),
              AllOf(HasSubstr("tls_key: the key in " + File("server.key")),
                    HasSubstr("is not that of the certificate in " + File("client.pem"))));
}

TEST_F(TlsOptionsTest, AnEncryptedKeyIsNotAskedForAtTheTerminal) {
  const std::string encrypted = Convert(
      {"pkey", "-in", File("client.key"), "-aes256", "-passout", "pass:hunter2"}, "enc.key");
  const std::string options = "tls_cert=" + File("client.pem") + "&tls_key=" + encrypted;
  const Status status = Read(options);
  EXPECT_THAT(status.message(), HasSubstr("the key in " + encrypted + " is encrypted"));
  EXPECT_THAT(status.hint(), HasSubstr("openssl pkey"));
  EXPECT_OK(Read(options, "hunter2"));
  const Status wrong = Read(options, "swordfish");
  EXPECT_THAT(wrong.message(), AllOf(HasSubstr("another passphrase"), Not(HasSubstr("swordfish"))));
}

TEST_F(TlsOptionsTest, EveryProblemIsToldAtOnceAndEveryRemedyOnce) {
  const Status status = Read("tls_ca=/no/ca.pem&tls_cert=/no/cert.pem");
  EXPECT_THAT(status.message(), AllOf(HasSubstr("/no/ca.pem"), HasSubstr("/no/cert.pem")));
  EXPECT_EQ(status.hint(), "it must be a PEM file that this user may read");
}

}  // namespace
}  // namespace outbox::sink
