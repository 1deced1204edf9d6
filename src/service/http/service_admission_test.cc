// Who is let in, and what does not wait for others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "service/http/file_limit.h"
#include "service/http/problem.h"
#include "service/http/test_client.h"
#include "service/http/test_server.h"

namespace outbox::service {
namespace {

using ::testing::HasSubstr;

TEST(Admission, ABodyIsNotReadBeforeItsSenderIsKnown) {
  TestServer server({.before_body = [](const Request& request) -> std::optional<Response> {
    if (request.Header("x-known") == "yes") return std::nullopt;
    EXPECT_EQ(request.path, "/echo");
    return Problem(401, "unauthorized", "Not authenticated", "");
  }});
  TestClient stranger(server.port());
  // Nothing of the body is sent: the answer does not wait for it.
  ASSERT_TRUE(stranger.Send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n"));
  EXPECT_EQ(stranger.Read().status, 401);
  EXPECT_TRUE(stranger.ClosedWithin(outbox::testing::kPatience));
  // Nor is he told to go on.
  TestClient polite(server.port());
  ASSERT_TRUE(polite.Send(
      "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"));
  EXPECT_EQ(polite.Read().status, 401);

  TestClient known(server.port());
  EXPECT_EQ(known.Post("/echo", "hello", "X-Known: yes\r\n").body, "hello");
  EXPECT_EQ(known.Get("/hello").status, 200) << "without a body nobody is asked";
  ASSERT_TRUE(
      known.Send("POST /echo HTTP/1.1\r\nHost: h\r\nX-Known: yes\r\n"
                 "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n"));
  EXPECT_THAT(known.ReadUntil("\r\n\r\n"), HasSubstr("100 Continue"));
  known.Send("hello");
  EXPECT_EQ(known.Read().body, "hello");
}

// Clients send all of a body before they look for an answer.
TEST(Admission, WhoStillSendsARefusedBodyGetsTheAnswer) {
  ServerOptions options{.before_body = [](const Request&) -> std::optional<Response> {
    return Problem(401, "unauthorized", "Not authenticated", "");
  }};
  options.limits.request_time = outbox::testing::kPatience;
  TestServer server(options);
  constexpr std::size_t kPiece = 16 * 1024;
  constexpr std::size_t kPieces = 40;  // together far more than a socket takes
  TestClient client(server.port());
  ASSERT_TRUE(client.Send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: " +
                          std::to_string(kPiece * kPieces) + "\r\n\r\n"));
  for (std::size_t i = 0; i < kPieces; ++i) {
    ASSERT_TRUE(client.Send(std::string(kPiece, 'x'))) << "after " << i << " pieces";
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // as over a slow line
  }
  EXPECT_EQ(client.Read().status, 401);
}

TEST(Admission, WhoWasAnsweredAndStaysDoesNotHoldUpTheEnd) {
  ServerOptions options{.before_body = [](const Request&) -> std::optional<Response> {
    return Problem(401, "unauthorized", "Not authenticated", "");
  }};
  options.limits.request_time = std::chrono::minutes(5);
  TestServer server(options);
  TestClient client(server.port());
  ASSERT_TRUE(client.Send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nx"));
  EXPECT_EQ(client.Read().status, 401);
  EXPECT_OK(server.server->Stop(Deadline::After(outbox::testing::kPatience)));
}

TEST(Admission, SomeRoutesDoNotWaitForTheWorkersOfOthers) {
  const auto router = std::make_shared<Router>();
  const auto gate = std::make_shared<Gate>();
  const auto waits = [gate](const Request&) {
    gate->Wait();
    return Response{.content_type = "text/plain", .body = "passed"};
  };
  router->Add(Method::kGet, "/slow", waits);
  router->Add(Method::kGet, "/health", [](const Request&) { return Response{.body = "well"}; },
              {.apart = true});
  const auto server = Server::Start({.worker_threads = 1, .worker_queue_max = 1},
                                    {{.address = {.host = "127.0.0.1"}, .router = router}});
  ASSERT_OK(server);
  const std::uint16_t port = (*server)->addresses().at(0).port;
  TestClient working(port), queued(port), refused(port);
  ASSERT_TRUE(working.Send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_TRUE(outbox::testing::WaitFor([&] { return gate->waiting() == 1; }));
  ASSERT_TRUE(queued.Send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_TRUE(outbox::testing::WaitFor([&] { return (*server)->counts().queued == 1; }));
  EXPECT_EQ(refused.Get("/slow").status, 503);
  EXPECT_EQ(TestClient(port).Get("/health").status, 200);
  gate->Open();
  EXPECT_EQ(working.Read().status, 200);
}

TEST(Admission, OneTooManyIsToldWithAnIdOfItsOwn) {
  ServerOptions options;
  options.limits.connections_max = 1;
  TestServer server(options);
  TestClient first(server.port());
  ASSERT_TRUE(first.Send("GET /gate HTTP/1.1\r\nHost: h\r\n\r\n"));
  ASSERT_TRUE(outbox::testing::WaitFor([&] { return server.gate->waiting() == 1; }));
  TestClient second(server.port());
  const TestReply reply = second.Read();
  EXPECT_EQ(reply.status, 503);
  const auto problem = nlohmann::json::parse(reply.body);
  EXPECT_EQ(problem.at("code"), "too_many_connections");
  EXPECT_EQ(problem.at("instance"), reply.header("x-request-id"));
  EXPECT_EQ(reply.header("x-request-id").size(), 36u);
}

TEST(Admission, AnEmptyLineBeforeARequestIsPassedOver) {
  TestServer server;
  TestClient client(server.port());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(client.Send("\r\nGET /hello HTTP/1.1\r\nHost: h\r\n\r\n"));
    EXPECT_EQ(client.Read().status, 200);
  }
  ASSERT_TRUE(client.Send("\r"));  // byte by byte
  ASSERT_TRUE(client.Send("\n"));
  EXPECT_EQ(client.Get("/hello").status, 200);
  ASSERT_TRUE(client.Send("\r\n\r\nGET /hello HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_EQ(client.Read().status, 400) << "one is enough";
}

TEST(Admission, RoomForFilesIsNeverLowered) {
  const std::size_t now = RaiseFileLimit(0);
  EXPECT_GT(now, 0u);
  EXPECT_EQ(RaiseFileLimit(1), now);
}

}  // namespace
}  // namespace outbox::service
