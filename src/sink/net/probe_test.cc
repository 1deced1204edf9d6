#include "sink/net/probe.h"

#include <fstream>

#include "tests/support/chatterbox.h"
#include "tests/support/http_server.h"
#include "tests/support/listener.h"
#include "tests/support/matchers.h"
#include "tests/support/probe_steps.h"
#include "tests/support/temp_folder.h"

namespace outbox::sink {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::HttpServer;
using testing::ProbeSteps;

class ProbeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const testing::Certificate certificate = testing::MakeCertificate("IP:127.0.0.1");
    std::ofstream(folder_.File("ca.pem")) << certificate.certificate;
    server_ = HttpServer::Start({.certificate = certificate});
    ASSERT_NE(server_, nullptr);
  }
  Way To(TlsOptions tls) const {
    return {.endpoints = {{"127.0.0.1", server_->port()}}, .tls = std::move(tls)};
  }

  const testing::TempFolder folder_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(ProbeTest, TellsEveryStepAndWhoseTheCertificateIs) {
  const ProbeSteps steps(To({.ca_file = folder_.File("ca.pem")}));
  EXPECT_OK(steps.status);
  EXPECT_EQ(steps.ok.at("resolve"), "1 address");
  EXPECT_EQ(steps.ok.at("connect"), "127.0.0.1");
  EXPECT_THAT(steps.ok.at("tls"),
              AllOf(HasSubstr("TLSv1.3, certificate"), ContainsRegex("until 20[0-9-]+$")));
  const ProbeSteps unverified(To({.verify = false}));
  EXPECT_THAT(unverified.ok.at("tls"), HasSubstr("TLSv1.3, not verified, certificate"));
}

TEST_F(ProbeTest, ACertificateThatIsNotTrustedFailsTheTlsStep) {
  const ProbeSteps steps(To({}));
  EXPECT_EQ(steps.failed, "tls");
  EXPECT_THAT(steps.status.message(), HasSubstr("certificate verify failed"));
  EXPECT_THAT(steps.status.hint(), HasSubstr("tls_ca=FILE"));
}

TEST_F(ProbeTest, AServerThatSpeaksSomethingElseIsToldFromOneThatIsSilent) {
  const testing::Chatterbox chatterbox("INFO {}\r\n");
  const ProbeSteps other(Way{.endpoints = {{"127.0.0.1", chatterbox.port()}},
                             .tls = TlsOptions{.instead = "write redis:"}});
  EXPECT_THAT(other.status.message(), HasSubstr("the answer is not TLS"));
  EXPECT_EQ(other.status.hint(), "the server does not speak TLS at this port: write redis:");

  const testing::Listener silent;
  const Way way{.tls = TlsOptions{.instead = "write redis:"}};
  const Status status =
      Probe(way, {"127.0.0.1", silent.port()}, Deadline::After(std::chrono::seconds(2)));
  EXPECT_THAT(status, HasCode(Code::kDeadline));
  EXPECT_EQ(status.hint(), "does the server speak TLS at this port? if not, write redis:");
}

TEST_F(ProbeTest, KnowsAServerThatSpeaksTlsWhoeverItIs) {
  EXPECT_TRUE(testing::SpeaksTls(To({})));
  const testing::Chatterbox chatterbox("+OK\r\n");
  EXPECT_FALSE(testing::SpeaksTls(Way{.endpoints = {{"127.0.0.1", chatterbox.port()}}}));
}

TEST_F(ProbeTest, NeverConnectsToAnAddressThatIsNotAllowed) {
  Way way = To({.verify = false});
  way.allows = [](const Address& address) { return address.ToString() != "127.0.0.1"; };
  const ProbeSteps steps(way);
  EXPECT_THAT(steps.status.message(), HasSubstr("address not allowed"));
  EXPECT_FALSE(testing::SpeaksTls(way));
  EXPECT_EQ(server_->connections(), 0u);
}

}  // namespace
}  // namespace outbox::sink
