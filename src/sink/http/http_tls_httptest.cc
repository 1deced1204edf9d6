#include <gtest/gtest.h>

#include <fstream>

#include "base/text.h"
#include "sink/http/http_test_sink.h"
#include "tests/support/http_server.h"
#include "tests/support/matchers.h"
#include "tests/support/process.h"
#include "tests/support/server.h"
#include "tests/support/temp_folder.h"

namespace outbox::sink {
namespace {

using outbox::testing::Certificate;
using outbox::testing::HttpServer;
using outbox::testing::MakeCertificate;
using outbox::testing::TempFolder;
using ::testing::HasSubstr;

class HttpTls : public ::testing::Test {
 protected:
  void Start(const std::string& name) {
    certificate_ = MakeCertificate(name);
    std::ofstream(folder_.File("ca.pem")) << certificate_.certificate;
    std::ofstream(folder_.File("key.pem")) << certificate_.key;
    server_ = HttpServer::Start({.certificate = certificate_});
    ASSERT_NE(server_, nullptr);
  }
  std::shared_ptr<Sink> With(const std::string& options) const {
    return SinkAt(base::StrCat(server_->url(), "/?outbox.allow=127.0.0.0/8", options));
  }
  std::string Ca() const { return "&outbox.tls_ca=" + folder_.File("ca.pem"); }

  TempFolder folder_;
  Certificate certificate_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpTls, ATrustedCertificateOfTheRightNameIsTaken) {
  Start("IP:127.0.0.1");
  const auto sink = With(Ca());
  for (const Status& status : PublishAll(*sink, SomeMessages(20))) EXPECT_OK(status);
  EXPECT_EQ(server_->requests().size(), 20u);
}

TEST_F(HttpTls, AnUnknownAuthorityIsASinkThatIsDownAndGetsNothing) {
  Start("IP:127.0.0.1");
  const Status status = PublishOne(*With(""));
  EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
  EXPECT_EQ(status.code(), Code::kPermission);
  EXPECT_THAT(status.hint(), HasSubstr("outbox.tls_ca"));
  EXPECT_TRUE(server_->requests().empty());
}

TEST_F(HttpTls, AnotherHostsCertificateIsASinkThatIsDownAndGetsNothing) {
  Start("DNS:other.example");
  const Status status = PublishOne(*With(Ca()));
  EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
  EXPECT_EQ(status.code(), Code::kPermission);
  EXPECT_TRUE(server_->requests().empty());
}

TEST_F(HttpTls, VerificationEndsOnlyWhenAskedTo) {
  Start("DNS:other.example");
  EXPECT_OK(PublishOne(*With("&outbox.tls_verify=false")));
}

TEST_F(HttpTls, AMissingAuthorityFileSaysSo) {
  Start("IP:127.0.0.1");
  const Status status = PublishOne(*With("&outbox.tls_ca=/nowhere/ca.pem"));
  EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
  EXPECT_EQ(status.code(), Code::kPermission);
}

TEST_F(HttpTls, AServerThatSpeaksNoTlsIsASinkThatIsDown) {
  const auto plain = HttpServer::Start({});
  ASSERT_NE(plain, nullptr);
  const auto sink = SinkAt(base::StrCat("https://127.0.0.1:", plain->port(),
                                        "/?outbox.allow=127.0.0.0/8&outbox.timeout=2s"));
  EXPECT_EQ(PublishOne(*sink).disposition(), Disposition::kSinkDown);
}

// Node's server, since ours speaks HTTP/1.1 only. It answers with the protocol it was asked in.
TEST_F(HttpTls, Http2SharesOneConnection) {
  OUTBOX_REQUIRE_PROGRAM("node");
  const Certificate certificate = MakeCertificate("IP:127.0.0.1");
  std::ofstream(folder_.File("ca.pem")) << certificate.certificate;
  const auto node = outbox::testing::Server::Start(
      {.command = {"node", "{folder}/server.js", "{folder}", "{port}"},
       .files = {
           {"cert.pem", certificate.certificate}, {"key.pem", certificate.key}, {"server.js", R"(
const fs = require('fs');
const [folder, port] = process.argv.slice(2);
const options = {cert: fs.readFileSync(folder + '/cert.pem'),
                 key: fs.readFileSync(folder + '/key.pem'), allowHTTP1: true};
let connections = 0;
const server = require('http2').createSecureServer(options, (request, response) => {
  request.resume();
  if (request.url == '/hang') return;
  request.on('end', () => {
    response.writeHead(418);
    response.end('version ' + request.httpVersion + ' connections ' + connections + '.');
  });
});
server.on('secureConnection', () => ++connections);
server.listen(Number(port), '127.0.0.1');
)"}}});
  ASSERT_NE(node, nullptr);
  const std::string url =
      base::StrCat("https://127.0.0.1:", node->port(), "/?outbox.allow=127.0.0.0/8", Ca());
  const std::string hanging =
      base::StrCat("https://127.0.0.1:", node->port(), "/hang?outbox.allow=127.0.0.0/8", Ca());
  for (const Status& status : PublishAll(*SinkAt(url), SomeMessages(200))) {
    EXPECT_EQ(status.disposition(), Disposition::kPermanent);
    EXPECT_THAT(status.message(), HasSubstr("version 2.0 connections 1."));
  }
  EXPECT_THAT(PublishOne(*SinkAt(url + "&outbox.http2=false")).message(),
              HasSubstr("version 1.1 connections 2."));
  const Status unanswered = PublishOne(*SinkAt(hanging + "&outbox.timeout=1s"));
  EXPECT_EQ(unanswered.disposition(), Disposition::kInDoubt) << unanswered.ToString();
}

}  // namespace
}  // namespace outbox::sink
