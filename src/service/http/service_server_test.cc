#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "log/captured_log.h"
#include "service/http/access_log.h"
#include "service/http/json_body.h"
#include "service/http/rate_limiter.h"
#include "service/http/response_head.h"
#include "service/http/test_server.h"

namespace outbox::service {
namespace {

using outbox::testing::kPatience;
using outbox::testing::WaitFor;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

std::string CodeOf(const TestReply& reply) {
  EXPECT_EQ(reply.header("content-type"), "application/problem+json");
  const auto json = ParseJson(reply.body);
  EXPECT_OK(json);
  if (!json.ok()) return "";
  EXPECT_EQ((*json)["status"], reply.status);
  EXPECT_EQ((*json)["instance"], reply.header("x-request-id"));
  return (*json)["code"];
}

TEST(HttpServer, ManyRequestsShareAConnection) {
  TestServer server;
  TestClient client(server.port());
  for (int i = 0; i < 50; ++i) {
    const TestReply reply = client.Get("/hello");
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, "hello");
    EXPECT_EQ(reply.header("connection"), "");
  }
  EXPECT_EQ(server.server->counts().connections, 1u);
}

TEST(HttpServer, HandlersSeePathQueryHeadersAndBody) {
  TestServer server;
  TestClient client(server.port());
  EXPECT_EQ(client.Get("/items/a%20b?q=x%2By&z", "X-THING: 7\r\n").body, "a b x+y 7");
  EXPECT_EQ(client.Post("/echo", "some text").body, "some text");
  EXPECT_EQ(client.Post("/echo", "").body, "");
  const std::string large(1 << 20, 'b');
  EXPECT_EQ(client.Post("/echo", large).body, large);
}

TEST(HttpServer, PipelinedRequestsAreAnsweredInOrder) {
  TestServer server;
  TestClient client(server.port());
  std::string requests;
  for (int i = 0; i < 40; ++i) {
    requests += "GET /items/" + std::to_string(i) + " HTTP/1.1\r\nHost: h\r\n\r\n";
    requests += "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
  }
  ASSERT_TRUE(client.Send(requests));
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(client.Read().body, std::to_string(i) + " - ");
    EXPECT_EQ(client.Read().body, "abc");
  }
}

TEST(HttpServer, ChunkedBodiesAreTaken) {
  TestServer server;
  TestClient client(server.port());
  client.Send("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel");
  client.Send("lo\r\n6\r\n world\r\n0\r\n\r\n");
  EXPECT_EQ(client.Read().body, "hello world");
  EXPECT_EQ(client.Get("/hello").status, 200);
}

TEST(HttpServer, Http10IsClosedUnlessKept) {
  TestServer server;
  TestClient kept(server.port());
  for (int i = 0; i < 3; ++i) {
    kept.Send("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    const TestReply reply = kept.Read();
    EXPECT_EQ(reply.body, "hello");
    EXPECT_EQ(reply.header("connection"), "keep-alive");
  }
  TestClient closed(server.port());
  closed.Send("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_EQ(closed.Read().header("connection"), "close");
  EXPECT_TRUE(closed.ClosedWithin(kPatience));
}

TEST(HttpServer, AConnectionIsClosedWhenTheClientSaysSo) {
  TestServer server;
  TestClient client(server.port());
  const TestReply reply = client.Get("/hello", "Connection: close\r\n");
  EXPECT_EQ(reply.body, "hello");
  EXPECT_EQ(reply.header("connection"), "close");
  EXPECT_TRUE(client.ClosedWithin(kPatience));
}

TEST(HttpServer, HeadHasTheHeadersOfGetAndNoBody) {
  TestServer server;
  TestClient client(server.port());
  client.Send("HEAD /hello HTTP/1.1\r\nHost: h\r\n\r\n");
  const TestReply reply = client.Read(true);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("content-length"), "5");
  EXPECT_EQ(client.Get("/quick").body, "quick");
}

TEST(HttpServer, UnknownPathsAndMethodsAreTold) {
  TestServer server;
  TestClient client(server.port());
  const TestReply missing = client.Get("/nowhere");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(CodeOf(missing), "not_found");
  EXPECT_EQ(client.Get("/hello/").status, 404);
  const TestReply wrong = client.Post("/hello", "");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(CodeOf(wrong), "method_not_allowed");
  EXPECT_EQ(wrong.header("allow"), "GET, HEAD, OPTIONS");
  client.Send("OPTIONS /hello HTTP/1.1\r\nHost: h\r\n\r\n");
  const TestReply options = client.Read();
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.header("allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(options.headers.count("content-length"), 0u);
  client.Send("BREW /hello HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.Read().status, 501);
  EXPECT_TRUE(client.ClosedWithin(kPatience));
}

TEST(HttpServer, EveryAnswerHasSecurityHeadersAndAnId) {
  TestServer server;
  for (const std::string request :
       {"GET /hello HTTP/1.1\r\nHost: h\r\n\r\n", "GET /nowhere HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /throw HTTP/1.1\r\nHost: h\r\n\r\n", "nonsense\r\n\r\n"}) {
    TestClient client(server.port());
    client.Send(request);
    const TestReply reply = client.Read();
    EXPECT_GT(reply.status, 0) << request;
    EXPECT_EQ(reply.header("x-content-type-options"), "nosniff");
    EXPECT_EQ(reply.header("cache-control"), "no-store");
    EXPECT_EQ(reply.header("content-security-policy"),
              "default-src 'none'; frame-ancestors 'none'");
    EXPECT_EQ(reply.header("referrer-policy"), "no-referrer");
    EXPECT_EQ(reply.header("x-frame-options"), "DENY");
    EXPECT_EQ(reply.header("strict-transport-security"), "");
    EXPECT_EQ(reply.header("access-control-allow-origin"), "");
    EXPECT_EQ(reply.header("vary"), "");
    EXPECT_EQ(reply.header("x-request-id").size(), 36u);
    EXPECT_THAT(reply.header("date"), HasSubstr(" GMT"));
  }
  TestClient client(server.port());
  EXPECT_EQ(client.Get("/hello", "X-Request-Id: mine-1\r\n").header("x-request-id"), "mine-1");
  EXPECT_EQ(client.Get("/hello", "X-Request-Id: <script>\r\n").header("x-request-id").size(), 36u);
}

TEST(HttpServer, AHandlersOwnHeadersArePassedOnIfTheyAreClean) {
  const Response response{.body = "x",
                          .headers = {{"Cache-Control", "max-age=60"},
                                      {"Content-Security-Policy", "default-src 'self'"},
                                      {"X-Evil", "a\r\nSet-Cookie: b"},
                                      {"Bad Name", "c"},
                                      {"Content-Length", "99"},
                                      {"X-Good", "d"}}};
  const std::string head = ResponseHead(response, {.request_id = "1"});
  EXPECT_THAT(head, HasSubstr("\r\nCache-Control: max-age=60\r\n"));
  EXPECT_THAT(head, Not(HasSubstr("no-store")));
  EXPECT_THAT(head, HasSubstr("\r\nContent-Security-Policy: default-src 'self'\r\n"));
  EXPECT_THAT(head, Not(HasSubstr("'none'")));
  EXPECT_THAT(head, HasSubstr("\r\nX-Good: d\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nContent-Length: 1\r\n"));
  for (const char* not_there : {"Set-Cookie", "Bad Name", "99"}) {
    EXPECT_THAT(head, Not(HasSubstr(not_there)));
  }
  EXPECT_EQ(HttpDate(std::chrono::system_clock::from_time_t(784111777)),
            "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST(HttpServer, WhatAHandlerThrowsStaysInside) {
  TestServer server;
  TestClient client(server.port());
  const TestReply reply = client.Get("/throw");
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(CodeOf(reply), "internal_error");
  EXPECT_THAT(reply.body, Not(HasSubstr("secret")));
  EXPECT_EQ(client.Get("/hello").status, 200);
}

TEST(HttpServer, AHandlerThatTakesTooLongIsGivenUp) {
  TestServer server({.limits = {.handle_time = 3s}});
  TestClient client(server.port());
  const TestReply reply = client.Get("/gate");
  EXPECT_EQ(reply.status, 504);
  EXPECT_EQ(CodeOf(reply), "timeout");
  EXPECT_TRUE(WaitFor([&] { return client.Get("/hello").status == 200; }));
  EXPECT_EQ(server.gate->waiting(), 1);
}

TEST(HttpServer, MoreWorkThanTheQueueHoldsIsRefusedAndQuickRoutesStillAnswer) {
  TestServer server({.limits = {.handle_time = 1h}, .worker_threads = 2, .worker_queue_max = 3});
  std::vector<std::unique_ptr<TestClient>> waiting;
  for (int i = 0; i < 5; ++i) {
    waiting.push_back(std::make_unique<TestClient>(server.port()));
    waiting.back()->Send("GET /gate HTTP/1.1\r\nHost: h\r\n\r\n");
    ASSERT_TRUE(WaitFor([&] {
      return server.gate->waiting() == std::min(i + 1, 2) &&
             server.server->counts().queued == static_cast<std::size_t>(std::max(i - 1, 0));
    }));
  }
  TestClient client(server.port());
  const TestReply refused = client.Get("/hello");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("retry-after"), "1");
  EXPECT_EQ(CodeOf(refused), "overloaded");
  EXPECT_EQ(client.Get("/quick").body, "quick");
  server.gate->Open();
  for (const auto& each : waiting) EXPECT_EQ(each->Read().body, "passed");
  EXPECT_EQ(client.Get("/hello").status, 200);
}

TEST(HttpServer, AClientThatLeavesMidHandlerHarmsNobody) {
  TestServer server;
  {
    TestClient leaving(server.port());
    leaving.Send("GET /gate HTTP/1.1\r\nHost: h\r\n\r\n");
    ASSERT_TRUE(WaitFor([&] { return server.gate->waiting() == 1; }));
  }
  TestClient client(server.port());
  EXPECT_EQ(client.Get("/hello").status, 200);
  server.gate->Open();
  EXPECT_TRUE(WaitFor([&] { return server.server->counts().connections == 1; }));
  EXPECT_EQ(client.Get("/gate").status, 200);
}

TEST(HttpServer, ObserversSeeTheRouteAndNeverThePath) {
  TestServer server;
  TestClient client(server.port());
  client.Get("/items/secret-id?token=secret-token", "X-Request-Id: r1\r\n");
  client.Get("/secret-path");
  client.Send("nonsense\r\n\r\n");
  const auto seen = server.observer->Wait(3);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].method, "GET");
  EXPECT_EQ(seen[0].route, "/items/{id}");
  EXPECT_EQ(seen[0].status, 200);
  EXPECT_EQ(seen[0].request_id, "r1");
  EXPECT_THAT(seen[0].remote, HasSubstr("127.0.0.1:"));
  EXPECT_GT(seen[0].request_bytes, 60u);
  EXPECT_GT(seen[0].response_bytes, 200u);
  EXPECT_TRUE(seen[0].complete);
  EXPECT_EQ(seen[1].route, "");
  EXPECT_EQ(seen[1].status, 404);
  EXPECT_EQ(seen[2].method, "OTHER");
  EXPECT_EQ(seen[2].status, 400);
}

TEST(HttpServer, TheAccessLogHasOneLineForEachRequest) {
  const log::CapturedLog captured;
  const log::Logger logger({}, captured.fd());
  const auto router = std::make_shared<Router>();
  router->Add(Method::kGet, "/items/{id}", [](const Request&) { return JsonResponse(200, "{}"); });
  auto server = Server::Start({}, {{.router = router}}, std::make_shared<AccessLog>(logger));
  ASSERT_OK(server);
  TestClient client((*server)->addresses().at(0).port);
  client.Get("/items/secret-id?token=secret-token",
             "Authorization: Bearer secret-bearer\r\nX-Request-Id: r1\r\n");
  ASSERT_TRUE(WaitFor([&] { return captured.text().find('\n') != std::string::npos; }));
  EXPECT_THAT(captured.text(),
              HasSubstr("level=info msg=request method=GET route=/items/{id} status=200 "));
  EXPECT_THAT(captured.text(), HasSubstr(" request_id=r1"));
  EXPECT_THAT(captured.text(), Not(HasSubstr("secret")));
}

TEST(HttpServer, AHandlerMayLimitTheRate) {
  RateLimiter limiter({.per_second = 0.01, .burst = 2});
  const auto router = std::make_shared<Router>();
  router->Add(Method::kGet, "/limited", [&](const Request& request) {
    const auto wait = limiter.Take(request.Header("X-Who"));
    return wait > 0ms ? TooManyRequests(wait) : JsonResponse(200, "{}");
  });
  auto server = Server::Start({}, {{.router = router}});
  ASSERT_OK(server);
  TestClient client((*server)->addresses().at(0).port);
  EXPECT_EQ(client.Get("/limited", "X-Who: a\r\n").status, 200);
  EXPECT_EQ(client.Get("/limited", "X-Who: a\r\n").status, 200);
  const TestReply limited = client.Get("/limited", "X-Who: a\r\n");
  EXPECT_EQ(limited.status, 429);
  EXPECT_EQ(CodeOf(limited), "rate_limited");
  // A hundred seconds from the first on, however long ago that is.
  EXPECT_THAT(std::atoi(limited.header("retry-after").c_str()),
              ::testing::AllOf(::testing::Ge(40), ::testing::Le(100)));
  EXPECT_EQ(client.Get("/limited", "X-Who: b\r\n").status, 200);
}

TEST(HttpServer, ListenersMayHaveDifferentRouters) {
  const auto tenants = std::make_shared<Router>();
  const auto operators = std::make_shared<Router>();
  tenants->Add(Method::kGet, "/mine", [](const Request&) { return JsonResponse(200, "1"); });
  operators->Add(Method::kGet, "/all", [](const Request&) { return JsonResponse(200, "2"); });
  auto server = Server::Start({}, {{.address = {.host = "127.0.0.1"}, .router = tenants},
                                   {.address = {.host = "localhost"}, .router = operators}});
  ASSERT_OK(server);
  const auto addresses = (*server)->addresses();
  ASSERT_EQ(addresses.size(), 2u);
  TestClient tenant(addresses[0].port);
  TestClient admin(addresses[1].port);
  EXPECT_EQ(tenant.Get("/mine").body, "1");
  EXPECT_EQ(tenant.Get("/all").status, 404);
  EXPECT_EQ(admin.Get("/all").body, "2");
  EXPECT_EQ(admin.Get("/mine").status, 404);
}

TEST(HttpServer, WhatCanNotStartSaysWhy) {
  const auto router = std::make_shared<Router>();
  const auto start = [&](ServerOptions options, ListenAddress address,
                         std::optional<TlsOptions> tls = {}) {
    return Server::Start(std::move(options), {{.address = address, .router = router, .tls = tls}})
        .error();
  };
  EXPECT_THAT(start({}, {.host = "example.org"}).message(), HasSubstr("\"example.org\""));
  TestServer other;
  EXPECT_THAT(start({}, {.port = other.port()}).message(),
              HasSubstr("127.0.0.1:" + std::to_string(other.port())));
  EXPECT_THAT(start({.worker_threads = 0}, {}).message(), HasSubstr("worker_threads"));
  EXPECT_THAT(start({.limits = {.idle_time = 0ms}}, {}).message(), HasSubstr("idle_time"));
  EXPECT_THAT(start({.limits = {.header_bytes_max = 10}}, {}).message(),
              HasSubstr("header_bytes_max"));
  for (const char* origin : {"*", "ui.example", "https://ui.example/", "ftp://x", "https://"}) {
    EXPECT_THAT(start({.cors_origins = {origin}}, {}).message(), HasSubstr("cors_origins"))
        << origin;
  }
  EXPECT_THAT(start({}, {}, TlsOptions{"/nowhere/cert.pem", "/nowhere/key.pem"}).message(),
              HasSubstr("/nowhere/cert.pem"));
  EXPECT_THAT(Server::Start({}, {}), HasCode(Code::kInvalidArgument));
}

TEST(HttpServer, WorksThroughIpVersion6) {
  const auto router = std::make_shared<Router>();
  router->Add(Method::kGet, "/who",
              [](const Request& request) { return Response{.body = request.remote}; });
  auto server = Server::Start({}, {{.address = {.host = "::"}, .router = router}});
  if (!server.ok()) GTEST_SKIP() << "no IPv6 here: " << server.error().ToString();
  // Both kinds come in, and an IPv4 client looks like one.
  TestClient client((*server)->addresses().at(0).port);
  EXPECT_THAT(client.Get("/who").body, ::testing::StartsWith("127.0.0.1:"));
  EXPECT_EQ((ListenAddress{.host = "::1", .port = 80}).ToString(), "[::1]:80");
}

}  // namespace
}  // namespace outbox::service
