// How the connections of webhooks are made, as an observer is told.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "base/text.h"
#include "sink/http/http_test_sink.h"
#include "sink/sent_observer.h"
#include "tests/support/http_server.h"
#include "tests/support/listener.h"
#include "tests/support/matchers.h"
#include "tests/support/probe_steps.h"
#include "tests/support/reserved_port.h"
#include "tests/support/temp_folder.h"

namespace outbox::sink {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HttpServer;

// A sink that has published one message.
struct Observed {
  std::vector<std::string> names;
  std::map<std::string, std::string> details;
  std::string failed;
  std::chrono::nanoseconds took{};
  Status status;

  std::size_t sent = 0;

  explicit Observed(const std::string& uri, std::size_t messages = 1,
                    std::chrono::milliseconds patience = std::chrono::seconds(30)) {
    const SentObserver observer([this] { ++sent; });
    const auto sink =
        MakeObservedHttpSink(SinkUri::Parse(uri).value(), [this](const ConnectStep& step) {
          names.emplace_back(step.name);
          details[std::string(step.name)] = step.detail;
          if (!step.ok) failed = step.name;
          took += step.took;
        });
    for (std::size_t i = 0; i < messages; ++i) status = PublishOne(**sink, patience);
  }
};

class HttpSteps : public ::testing::Test {
 protected:
  void SetUp() override {
    const testing::Certificate certificate = testing::MakeCertificate("IP:127.0.0.1");
    std::ofstream(folder_.File("ca.pem")) << certificate.certificate;
    plain_ = HttpServer::Start({});
    secure_ = HttpServer::Start({.certificate = certificate});
    ASSERT_NE(plain_, nullptr);
    ASSERT_NE(secure_, nullptr);
  }
  static std::string Allowed(const HttpServer& server, const std::string& options = "") {
    return base::StrCat(server.url(), "/?outbox.allow=127.0.0.0/8", options);
  }

  const testing::TempFolder folder_;
  std::unique_ptr<HttpServer> plain_;
  std::unique_ptr<HttpServer> secure_;
};

TEST_F(HttpSteps, AreToldOnceForAConnectionThatIsUsedAgain) {
  const auto start = std::chrono::steady_clock::now();
  const Observed observed(Allowed(*secure_, "&outbox.tls_ca=" + folder_.File("ca.pem")), 3);
  EXPECT_OK(observed.status);
  EXPECT_THAT(observed.names, ElementsAre("resolve", "connect", "tls"));
  EXPECT_EQ(observed.details.at("connect"), "127.0.0.1");
  EXPECT_THAT(observed.details.at("tls"), AllOf(HasSubstr("TLSv1."), HasSubstr(" until 20")));
  EXPECT_GT(observed.took.count(), 0);
  EXPECT_LE(observed.took, std::chrono::steady_clock::now() - start);
  EXPECT_EQ(secure_->requests().size(), 3u);
  EXPECT_THAT(Observed(Allowed(*plain_)).names, ElementsAre("resolve", "connect"));
}

TEST_F(HttpSteps, SayWhenTheRequestHasLeftWhateverItsAnswer) {
  EXPECT_EQ(Observed(Allowed(*plain_)).sent, 1u);
  EXPECT_EQ(Observed(Allowed(*secure_, "&outbox.tls_ca=" + folder_.File("ca.pem")), 3).sent, 3u);
  EXPECT_EQ(Observed(Allowed(*plain_, "&outbox.batch=true")).sent, 1u);
  const auto hangs = HttpServer::Start({.handler = [](const HttpServer::Request&) {
    return HttpServer::Reply{.ending = HttpServer::Ending::kHang};
  }});
  ASSERT_NE(hangs, nullptr);
  const Observed hung(Allowed(*hangs), 1, std::chrono::seconds(2));
  EXPECT_EQ(hung.status.disposition(), Disposition::kInDoubt) << hung.status.ToString();
  EXPECT_EQ(hung.sent, 1u) << "before the answer";
  EXPECT_EQ(Observed(plain_->url()).sent, 0u) << "the guard refuses";
}

TEST_F(HttpSteps, EndWithTheOneThatFails) {
  const Observed nowhere("https://no-such-host.invalid/");
  EXPECT_THAT(nowhere.names, ElementsAre("resolve"));
  EXPECT_EQ(nowhere.failed, "resolve");
  const testing::ReservedPort nobodys;
  const Observed away(
      base::StrCat("https://127.0.0.1:", nobodys.number(), "/?outbox.allow=127.0.0.0/8"));
  EXPECT_THAT(away.names, ElementsAre("resolve", "connect"));
  EXPECT_EQ(away.failed, "connect");
  const Observed unknown(Allowed(*secure_));
  EXPECT_THAT(unknown.names, ElementsAre("resolve", "connect", "tls"));
  EXPECT_EQ(unknown.failed, "tls");
  const testing::Listener silent;
  const Observed hung(base::StrCat("https://127.0.0.1:", silent.port(),
                                   "/?outbox.allow=127.0.0.0/8&outbox.timeout=5s"));
  EXPECT_THAT(hung.names, ElementsAre("resolve", "connect", "tls"));
  EXPECT_EQ(hung.failed, "tls");
}

TEST_F(HttpSteps, NeverLeadWhereTheGuardRefuses) {
  const Observed observed(plain_->url());
  EXPECT_EQ(observed.failed, "connect");
  EXPECT_THAT(observed.details.at("connect"), HasSubstr("address not allowed"));
  EXPECT_FALSE(testing::SpeaksTls(HttpWay(SinkUri::Parse(secure_->url()).value())));
  EXPECT_EQ(plain_->connections() + secure_->connections(), 0u);
}

TEST_F(HttpSteps, TheWayKnowsAPortForTls) {
  const auto way = HttpWay(SinkUri::Parse(Allowed(*secure_)).value());
  EXPECT_TRUE(testing::SpeaksTls(way));
  EXPECT_EQ(way->instead, "write https:");
  EXPECT_EQ(HttpWay(SinkUri::Parse("http://h/?outbox.proxy=http://p").value())->instead, "");
}

TEST_F(HttpSteps, AServersComplaintAboutAPlainRequestIsUnderstood) {
  const auto strict = HttpServer::Start({.handler = [](const HttpServer::Request&) {
    return HttpServer::Reply{.status = 400,
                             .body = "Client sent an HTTP request to an HTTPS server.\n"};
  }});
  ASSERT_NE(strict, nullptr);
  EXPECT_THAT(Observed(Allowed(*strict)).status.hint(), HasSubstr("write https:"));
}

}  // namespace
}  // namespace outbox::sink
