#include <gtest/gtest.h>

#include <filesystem>

#include "service/http/test_server.h"
#include "tests/support/certificates.h"
#include "tests/support/temp_folder.h"

namespace outbox::service {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class HttpServerTls : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(certificates_.ok()); }
  TlsOptions Options() const {
    return {.certificate_file = certificates_.File("server.pem"),
            .key_file = certificates_.File("server.key")};
  }
  std::string Ca() const { return certificates_.File("ca.pem"); }

  const outbox::testing::Certificates certificates_;
};

TEST_F(HttpServerTls, RequestsAreServedAndBrowsersToldToStay) {
  TestServer server({}, Options());
  TestClient client(server.port());
  ASSERT_TRUE(client.StartTls(Ca()));
  for (int i = 0; i < 3; ++i) {
    const TestReply reply = client.Get("/hello");
    EXPECT_EQ(reply.body, "hello");
    EXPECT_EQ(reply.header("strict-transport-security"), "max-age=31536000");
  }
  const std::string large(1 << 20, 't');
  EXPECT_EQ(client.Post("/echo", large).body, large);
  EXPECT_EQ(client.Get("/hello", "Connection: close\r\n").status, 200);
  EXPECT_EQ(client.ReadToEnd(), "");
}

TEST_F(HttpServerTls, ARefusalReachesAClientThatGoesOnSending) {
  TestServer server({}, Options());
  TestClient client(server.port());
  ASSERT_TRUE(client.StartTls(Ca()));
  client.Send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1073741824\r\n\r\n");
  client.Send(std::string(200'000, 'x'));
  EXPECT_EQ(client.Read().status, 413);
}

TEST_F(HttpServerTls, OldVersionsAreRefused) {
  TestServer server({}, Options());
  TestClient old(server.port());
  EXPECT_FALSE(old.StartTls(Ca(), TLS1_1_VERSION));
  TestClient fine(server.port());
  EXPECT_TRUE(fine.StartTls(Ca(), TLS1_2_VERSION));
}

TEST_F(HttpServerTls, OnlySuitesWithForwardSecrecyAreOffered) {
  TestServer server({}, Options());
  for (const char* suite : {"AES128-SHA", "AES256-GCM-SHA384", "ECDHE-RSA-AES128-SHA"}) {
    TestClient weak(server.port());
    EXPECT_FALSE(weak.StartTls(Ca(), TLS1_2_VERSION, suite)) << suite;
  }
  TestClient strong(server.port());
  EXPECT_TRUE(strong.StartTls(Ca(), TLS1_2_VERSION, "ECDHE+AESGCM"));
}

// A certificate is renewed in place; connections that are open go on.
TEST_F(HttpServerTls, ItsFilesAreReadAgain) {
  outbox::testing::TempFolder folder;
  const TlsOptions files{.certificate_file = folder.File("c.pem"),
                         .key_file = folder.File("k.pem")};
  const auto install = [&](const outbox::testing::Certificates& from) {
    const auto replace = std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy_file(from.File("server.pem"), files.certificate_file, replace);
    std::filesystem::copy_file(from.File("server.key"), files.key_file, replace);
  };
  install(certificates_);
  const auto router = std::make_shared<Router>();
  router->Add(Method::kGet, "/hello", [](const Request&) { return Response{.body = "hello"}; });
  auto server = Server::Start({}, {{.router = router, .tls = files}});
  ASSERT_OK(server);
  const auto port = (*server)->addresses().at(0).port;
  TestClient open(port);
  ASSERT_TRUE(open.StartTls(Ca()));
  EXPECT_EQ(open.Get("/hello").status, 200);

  const outbox::testing::Certificates renewed;
  ASSERT_TRUE(renewed.ok());
  install(renewed);
  ASSERT_OK((*server)->ReloadTls());
  TestClient later(port);
  EXPECT_TRUE(later.StartTls(renewed.File("ca.pem")));
  EXPECT_EQ(later.Get("/hello").status, 200);
  EXPECT_EQ(open.Get("/hello").status, 200);

  std::filesystem::copy_file(certificates_.File("client.key"), files.key_file,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT((*server)->ReloadTls().message(), HasSubstr(files.key_file));
  TestClient still(port);
  EXPECT_TRUE(still.StartTls(renewed.File("ca.pem"))) << "what can not be used replaces nothing";
}

TEST_F(HttpServerTls, PlainTextAndSilenceAreClosed) {
  TestServer server({.limits = {.header_time = 500ms}}, Options());
  TestClient plain(server.port());
  plain.Send("GET /hello HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(plain.ClosedWithin(outbox::testing::kPatience));
  TestClient silent(server.port());
  EXPECT_TRUE(silent.ClosedWithin(outbox::testing::kPatience));
  TestClient half(server.port());
  half.Send(std::string("\x16\x03\x01", 3));
  EXPECT_TRUE(half.ClosedWithin(outbox::testing::kPatience));
}

TEST_F(HttpServerTls, EventsAreStreamed) {
  const auto stream = std::make_shared<EventStream>();
  const auto router = std::make_shared<Router>();
  router->Add(Method::kGet, "/events", [&](const Request&) { return StreamResponse(stream); });
  auto secure = Server::Start({}, {{.router = router, .tls = Options()}});
  ASSERT_OK(secure);
  TestClient client((*secure)->addresses().at(0).port);
  ASSERT_TRUE(client.StartTls(Ca()));
  EXPECT_EQ(client.Get("/events").status, 200);
  EXPECT_TRUE(stream->Send("a", "1"));
  EXPECT_EQ(client.ReadUntil("\n\n"), "event: a\ndata: 1\n\n");
  stream->Send("b", "2");
  stream->Close();
  EXPECT_EQ(client.ReadToEnd(), "event: b\ndata: 2\n\n");
}

TEST_F(HttpServerTls, AListenerThatLeavesIsNoticed) {
  const auto stream = std::make_shared<EventStream>(EventStreamOptions{.heartbeat = 1h});
  const auto router = std::make_shared<Router>();
  router->Add(Method::kGet, "/events", [&](const Request&) { return StreamResponse(stream); });
  auto secure = Server::Start({}, {{.router = router, .tls = Options()}});
  ASSERT_OK(secure);
  {
    TestClient client((*secure)->addresses().at(0).port);
    ASSERT_TRUE(client.StartTls(Ca()));
    EXPECT_EQ(client.Get("/events").status, 200);
    EXPECT_FALSE(stream->gone());
  }
  EXPECT_TRUE(outbox::testing::WaitFor([&] { return stream->gone(); }));
}

TEST_F(HttpServerTls, AKeyOfAnotherCertificateIsNamed) {
  TlsOptions options = Options();
  options.key_file = certificates_.File("client.key");
  const auto router = std::make_shared<Router>();
  const Status wrong = Server::Start({}, {{.router = router, .tls = options}}).error();
  EXPECT_EQ(wrong.code(), Code::kInvalidArgument);
  EXPECT_THAT(wrong.message(), HasSubstr(options.key_file));
  EXPECT_THAT(wrong.hint(), HasSubstr("passphrase"));
}

}  // namespace
}  // namespace outbox::service
