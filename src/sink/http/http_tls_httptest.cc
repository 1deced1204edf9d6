#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <future>

#include "base/text.h"
#include "sink/http/http_test_sink.h"
#include "tests/support/chatterbox.h"
#include "tests/support/http_server.h"
#include "tests/support/matchers.h"
#include "tests/support/process.h"
#include "tests/support/server.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait.h"

namespace outbox::sink {
namespace {

using outbox::testing::Certificate;
using outbox::testing::HttpServer;
using outbox::testing::MakeCertificate;
using outbox::testing::TempFolder;
using outbox::testing::WaitFor;
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

TEST_F(HttpTls, AnAuthorityFileThatHasGoneSaysSo) {
  Start("IP:127.0.0.1");
  const auto sink = With(Ca());
  ASSERT_EQ(std::remove(folder_.File("ca.pem").c_str()), 0);
  const Status status = PublishOne(*sink);
  EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
  EXPECT_EQ(status.code(), Code::kPermission);
  EXPECT_THAT(status.hint(), HasSubstr("outbox.tls_ca"));
}

TEST_F(HttpTls, AServerThatSpeaksNoTlsIsASinkThatIsDown) {
  const outbox::testing::Chatterbox other("HTTP/1.1 400 Bad Request\r\n\r\n");
  const outbox::testing::Listener silent;
  const auto publish = [](int port, const std::string& options = "") {
    return PublishOne(
        *SinkAt(base::StrCat("https://127.0.0.1:", port, "/?outbox.allow=127.0.0.0/8", options)));
  };
  const Status answered = publish(other.port());
  EXPECT_EQ(answered.disposition(), Disposition::kSinkDown);
  EXPECT_THAT(answered.message(), HasSubstr("the answer is not TLS"));
  EXPECT_EQ(answered.hint(), "the server does not speak TLS at this port: write http:");
  const Status unanswered = publish(silent.port(), "&outbox.timeout=5s");
  EXPECT_EQ(unanswered.disposition(), Disposition::kSinkDown);
  EXPECT_THAT(unanswered.hint(), HasSubstr("if not, write http:"));
}

// Node's server, since ours speaks HTTP/1.1 only.
class Http2 : public ::testing::Test {
 protected:
  // `answer` is the body of a function (request, response, connection), where connection counts
  // from
  // 1. The request has been read.
  void Start(const std::string& answer) {
    const Certificate certificate = MakeCertificate("IP:127.0.0.1");
    std::ofstream(folder_.File("ca.pem")) << certificate.certificate;
    node_ = outbox::testing::Server::Start(
        {.command = {"node", "{folder}/server.js", "{folder}", "{port}"},
         .files = {
             {"cert.pem", certificate.certificate}, {"key.pem", certificate.key}, {"server.js", R"(
const fs = require('fs');
const [folder, port] = process.argv.slice(2);
const options = {cert: fs.readFileSync(folder + '/cert.pem'),
                 key: fs.readFileSync(folder + '/key.pem'), allowHTTP1: true};
let connections = 0;
const server = require('http2').createSecureServer(options, (request, response) => {
  const connection = request.stream ? request.stream.session : request.socket;
  connection.number ??= ++connections;
  request.resume();
  request.on('end', () => answer(request, response, connection.number));
});
server.listen(Number(port), '127.0.0.1');
function answer(request, response, connection) {)" + answer + "}"}}});
    ASSERT_NE(node_, nullptr);
  }
  // Publishes until the result is the one expected. While the machine is busy a request may not
  // leave in time, which is a sink that is down; anything else is a failure.
  static void Await(const std::function<Status()>& publish, Disposition expected) {
    EXPECT_TRUE(WaitFor([&] {
      const Status status = publish();
      if (status.disposition() == expected) return true;
      EXPECT_EQ(status.disposition(), Disposition::kSinkDown) << status.ToString();
      return false;
    }));
  }
  std::shared_ptr<Sink> At(const std::string& path, const std::string& options = "") const {
    return SinkAt(base::StrCat("https://127.0.0.1:", node_->port(), path,
                               "?outbox.allow=127.0.0.0/8&outbox.excerpt=100&outbox.tls_ca=",
                               folder_.File("ca.pem"), options));
  }

  TempFolder folder_;
  std::unique_ptr<outbox::testing::Server> node_;
};

TEST_F(Http2, SharesOneConnection) {
  OUTBOX_REQUIRE_PROGRAM("node");
  Start(R"(
    if (request.url == '/hang') return;
    response.writeHead(418);
    response.end('version ' + request.httpVersion + ' connection ' + connection + '.');)");
  for (const Status& status : PublishAll(*At("/"), SomeMessages(200))) {
    EXPECT_EQ(status.disposition(), Disposition::kPermanent);
    EXPECT_THAT(status.message(), HasSubstr("version 2.0 connection 1."));
  }
  EXPECT_THAT(PublishOne(*At("/", "&outbox.http2=false")).message(),
              HasSubstr("version 1.1 connection 2."));
  const auto hanging = At("/hang", "&outbox.timeout=5s");
  Await([&] { return PublishOne(*hanging); }, Disposition::kInDoubt);
}

// From the first request that is not answered on, a connection answers nothing. Message 3 is told
// how many came over such a connection.
constexpr const char* kFreezes = R"(
    global.frozen ??= new Set();
    global.wasted ??= 0;
    if (global.frozen.has(connection)) return ++global.wasted;
    const message = request.headers['outbox-seq'];
    if (message == '2') return global.frozen.add(connection);
    if (message == '3') response.writeHead(418);
    response.end(global.wasted + ' wasted.');)";

TEST_F(Http2, AConnectionThatHasStoppedAnsweringIsNotUsedAgain) {
  OUTBOX_REQUIRE_PROGRAM("node");
  Start(kFreezes);
  const auto sink = At("/", "&outbox.timeout=5s");
  const auto messages = SomeMessages(3);
  Status last;
  const auto publish = [&](std::size_t i) { return last = PublishAll(*sink, {messages[i]})[0]; };
  Await([&] { return publish(0); }, Disposition::kNone);
  Await([&] { return publish(1); }, Disposition::kInDoubt);
  Await([&] { return publish(2); }, Disposition::kPermanent);
  EXPECT_THAT(last.message(), HasSubstr("0 wasted."));
}

TEST_F(Http2, ACallThatIsGivenUpLeavesNoFrozenConnectionBehind) {
  OUTBOX_REQUIRE_PROGRAM("node");
  Start(kFreezes);
  const auto sink = At("/");
  const auto messages = SomeMessages(3);
  ASSERT_OK(PublishAll(*sink, {messages[0]})[0]);
  Await([&] { return PublishAll(*sink, {messages[1]}, std::chrono::seconds(3))[0]; },
        Disposition::kInDoubt);
  const Status last = PublishAll(*sink, {messages[2]})[0];
  EXPECT_EQ(last.disposition(), Disposition::kPermanent) << last.ToString();
  EXPECT_THAT(last.message(), HasSubstr("0 wasted."));
}

// Message 1 is never answered, message 2 when message 3 has come over another connection.
TEST_F(Http2, AfterATimeoutOthersMayStillBeAnsweredAndNewOnesStartAtOnce) {
  OUTBOX_REQUIRE_PROGRAM("node");
  Start(R"(
    const message = request.headers['outbox-seq'];
    if (message == '1') global.first = connection;
    if (message == '2') global.slow = {response, connection};
    if (message != '3') return;
    const answer = () => {
      if (!global.slow) return setTimeout(answer, 10);
      response.writeHead(418);
      response.end('slow shared ' + (global.slow.connection == global.first) +
                   ', new shares ' + (connection == global.first) + '.');
      global.slow.response.end();
    };
    answer();)");
  const auto sink = At("/", "&outbox.timeout=2m");
  const auto messages = SomeMessages(3);
  auto slow = std::async(std::launch::async, [&] {
    return PublishAll(*sink, {messages[1]}, 2 * outbox::testing::kPatience)[0];
  });
  Await([&] { return PublishAll(*sink, {messages[0]}, std::chrono::seconds(5))[0]; },
        Disposition::kInDoubt);
  const Status last = PublishAll(*sink, {messages[2]}, outbox::testing::kPatience)[0];
  EXPECT_THAT(last.message(), HasSubstr("slow shared true, new shares false."));
  EXPECT_OK(slow.get());
}

// The first is answered when all others have been.
TEST_F(Http2, OneSlowAnswerDoesNotHoldUpTheRestOfACall) {
  OUTBOX_REQUIRE_PROGRAM("node");
  Start(R"(
    global.others ??= 0;
    if (request.headers['outbox-seq'] == '1') {
      global.slow = response;
    } else {
      response.end();
      ++global.others;
    }
    if (global.others == 19) global.slow?.end();)");
  const auto sink = At("/", "&outbox.concurrency=2&outbox.timeout=25s");
  for (const Status& status : PublishAll(*sink, SomeMessages(20))) EXPECT_OK(status);
}

}  // namespace
}  // namespace outbox::sink
