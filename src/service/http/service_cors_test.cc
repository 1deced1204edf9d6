#include <gtest/gtest.h>

#include "service/http/test_server.h"

namespace outbox::service {
namespace {

constexpr const char* kOrigin = "Origin: https://ui.example\r\n";
constexpr const char* kForeign = "Origin: https://evil.example\r\n";

TestReply Preflight(TestClient& client, const std::string& path, const std::string& origin) {
  client.Send("OPTIONS " + path +
              " HTTP/1.1\r\nHost: h\r\nAccess-Control-Request-Method: POST\r\n" + origin + "\r\n");
  return client.Read();
}

TEST(HttpCors, IsOffUnlessOriginsAreListed) {
  TestServer server;
  TestClient client(server.port());
  const TestReply reply = client.Get("/hello", kOrigin);
  EXPECT_EQ(reply.header("access-control-allow-origin"), "");
  EXPECT_EQ(reply.header("vary"), "");
  EXPECT_EQ(Preflight(client, "/echo", kOrigin).header("access-control-allow-methods"), "");
}

TEST(HttpCors, ListedOriginsMayCall) {
  TestServer server({.cors_origins = {"https://other.example", "https://ui.example"}});
  TestClient client(server.port());
  const TestReply preflight = Preflight(client, "/echo", kOrigin);
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.header("access-control-allow-origin"), "https://ui.example");
  EXPECT_EQ(preflight.header("access-control-allow-methods"), "POST, OPTIONS");
  EXPECT_EQ(preflight.header("access-control-allow-headers"),
            "Authorization, Content-Type, Last-Event-ID, X-Request-Id");
  EXPECT_EQ(preflight.header("vary"), "Origin");
  const TestReply reply = client.Get("/hello", kOrigin);
  EXPECT_EQ(reply.body, "hello");
  EXPECT_EQ(reply.header("access-control-allow-origin"), "https://ui.example");
  EXPECT_EQ(reply.header("access-control-allow-credentials"), "");
  EXPECT_EQ(reply.header("vary"), "Origin");
  // Errors too, or a page could not read them.
  EXPECT_EQ(client.Get("/nowhere", kOrigin).header("access-control-allow-origin"),
            "https://ui.example");
}

TEST(HttpCors, OthersMayNot) {
  TestServer server({.cors_origins = {"https://ui.example"}});
  TestClient client(server.port());
  const TestReply preflight = Preflight(client, "/echo", kForeign);
  EXPECT_EQ(preflight.header("access-control-allow-origin"), "");
  EXPECT_EQ(preflight.header("access-control-allow-methods"), "");
  EXPECT_EQ(preflight.header("vary"), "Origin");
  const TestReply reply = client.Get("/hello", kForeign);
  EXPECT_EQ(reply.header("access-control-allow-origin"), "");
  EXPECT_EQ(reply.header("vary"), "Origin");
  EXPECT_EQ(client.Get("/hello", "Origin: null\r\n").header("access-control-allow-origin"), "");
}

}  // namespace
}  // namespace outbox::service
