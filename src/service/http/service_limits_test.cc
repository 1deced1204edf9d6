#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "service/http/malformed_requests.h"
#include "service/http/test_server.h"

namespace outbox::service {
namespace {

using outbox::testing::kPatience;
using outbox::testing::WaitFor;
using namespace std::chrono_literals;

// More than buffers of the server take, and less than a body that is kept.
constexpr long kMuchKiB = 16 * 1024;

// Memory of this process that is no file's, in KiB; 0 where /proc does not tell.
long ResidentKiB() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::atol(line.c_str() + 8);
  }
  return 0;
}

TEST(HttpLimits, MalformedRequestsAreRefusedAndNothingBreaks) {
  TestServer server({.limits = {.header_time = kPatience, .request_time = kPatience}});
  ASSERT_GE(MalformedRequests().size(), 30u);
  std::map<int, int> answers;
  for (const Malformed& malformed : MalformedRequests()) {
    SCOPED_TRACE(malformed.why);
    TestClient client(server.port());
    client.Send(malformed.bytes);
    client.EndSending();
    const TestReply reply = client.Read();
    ++answers[reply.status];
    EXPECT_TRUE(reply.status == 0 || reply.status == 501 ||
                (reply.status >= 400 && reply.status < 500))
        << reply.status;
    if (reply.status != 0) {
      EXPECT_EQ(reply.header("content-type"), "application/problem+json");
    }
    EXPECT_TRUE(client.ClosedWithin(kPatience));
  }
  for (const auto& [status, count] : answers) std::printf("status=%d count=%d\n", status, count);
  EXPECT_LE(answers[0], 5);
  TestClient client(server.port());
  EXPECT_EQ(client.Get("/hello").status, 200);
}

// What follows is no second request: whoever reads it as one could be made to by a stranger.
TEST(HttpLimits, WhatComesAfterTheLastRequestIsNotRead) {
  const std::string next = "GET /hello?next HTTP/1.1\r\nHost: h\r\n\r\n";
  struct Last {
    const char* why;
    std::string bytes;
    int status;
  };
  const std::string close = "Connection: close\r\n";
  for (const Last& last : std::vector<Last>{
           {"it says close", "GET /hello HTTP/1.1\r\nHost: h\r\n" + close + "\r\n", 200},
           {"it says close, among others",
            "GET /hello HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, close\r\n\r\n", 200},
           {"close, behind a body",
            "POST /echo HTTP/1.1\r\nHost: h\r\n" + close + "Content-Length: 2\r\n\r\nhi", 200},
           {"close, behind chunks",
            "POST /echo HTTP/1.1\r\nHost: h\r\n" + close +
                "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            200},
           {"HTTP/1.0", "GET /hello HTTP/1.0\r\n\r\n", 200},
           {"it was refused", "GET /hello HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n", 400},
           {"its length was refused",
            "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2, 2\r\n\r\nhi", 400},
           {"its body was not read",
            "POST /nowhere HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n", 404}}) {
    SCOPED_TRACE(last.why);
    TestServer server;
    TestClient client(server.port());
    ASSERT_TRUE(client.Send(last.bytes + next));
    EXPECT_EQ(client.Read().status, last.status);
    EXPECT_EQ(client.ReadToEnd(), "");
    EXPECT_EQ(server.observer->Wait(1).size(), 1u);
  }
  // The control: without a reason it is the next request.
  TestServer server;
  TestClient client(server.port());
  ASSERT_TRUE(client.Send("GET /hello HTTP/1.1\r\nHost: h\r\n\r\n" + next));
  EXPECT_EQ(client.Read().status, 200);
  EXPECT_EQ(client.Read().status, 200);
}

TEST(HttpLimits, LargeHeadersGet431AndLongTargets414) {
  TestServer server;
  TestClient header(server.port());
  header.Send("GET /hello HTTP/1.1\r\nHost: h\r\nX-Large: " + std::string(20'000, 'x'));
  EXPECT_EQ(header.Read().status, 431);
  EXPECT_TRUE(header.ClosedWithin(kPatience));
  TestClient target(server.port());
  EXPECT_EQ(target.Get("/" + std::string(5000, 'a')).status, 414);
  TestClient endless(server.port());
  endless.Send("GET /" + std::string(20'000, 'a'));
  EXPECT_EQ(endless.Read().status, 414);
  TestClient fits(server.port());
  EXPECT_EQ(fits.Get("/hello", "X-Large: " + std::string(15'000, 'x') + "\r\n").status, 200);
}

TEST(HttpLimits, LargeBodiesGet413BeforeTheyAreSent) {
  TestServer server({.limits = {.body_bytes_max = 1000}});
  TestClient declared(server.port());
  declared.Send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_EQ(declared.Read().status, 413);
  TestClient asking(server.port());
  asking.Send(
      "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_EQ(asking.Read().status, 413);
  TestClient chunked(server.port());
  chunked.Send("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n");
  EXPECT_EQ(chunked.Read().status, 413);
  TestClient fits(server.port());
  EXPECT_EQ(fits.Post("/echo", std::string(1000, 'x')).status, 200);
}

TEST(HttpLimits, AnExpectationIsMetWhenTheRequestWillBeTaken) {
  TestServer server;
  TestClient client(server.port());
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(client.Read(true).status, 100);
  client.Send("hello");
  EXPECT_EQ(client.Read().body, "hello");
  client.Send(
      "POST /nowhere HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(client.Read().status, 404);
  EXPECT_TRUE(client.ClosedWithin(kPatience));
}

// Sends until the server has had enough, both with a length and in chunks.
TEST(HttpLimits, AGigabyteGets413AndCostsNoMemory) {
  TestServer server;
  TestClient(server.port()).Get("/hello");
  const std::string block(64 * 1024, 'g');
  const long before = ResidentKiB();
  for (const bool chunked : {false, true}) {
    TestClient client(server.port());
    client.Send(chunked ? "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                        : "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1073741824\r\n\r\n");
    std::size_t sent = 0;
    while (sent < std::size_t{1} << 30) {
      if (chunked && !client.Send("10000\r\n")) break;
      if (!client.Send(block)) break;
      if (chunked && !client.Send("\r\n")) break;
      sent += block.size();
    }
    EXPECT_EQ(client.Read().status, 413);
    EXPECT_LT(sent, std::size_t{64} << 20);
    std::printf("chunked=%d sent_kib=%zu\n", chunked ? 1 : 0, sent / 1024);
  }
  const long growth = ResidentKiB() - before;
  std::printf("resident_growth_kib=%ld\n", growth);
#if !defined(OUTBOX_SANITIZED)
  EXPECT_LT(growth, kMuchKiB);
#endif
}

// The control: a body that is kept would have been seen.
TEST(HttpLimits, ABodyThatIsTakenCostsMemory) {
  const auto router = std::make_shared<Router>();
  std::atomic<long> held = 0;
  router->Add(Method::kPost, "/hold", [&](const Request& request) {
    held = ResidentKiB();
    return Response{.body = std::to_string(request.body.size())};
  });
  auto server = Server::Start({.limits = {.body_bytes_max = 64 << 20}}, {{.router = router}});
  ASSERT_OK(server);
  TestClient client((*server)->addresses().at(0).port);
  const std::string body(32 << 20, 'b');
  const long before = ResidentKiB();
  client.Send("POST /hold HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) +
              "\r\n\r\n");
  client.Send(body);
  EXPECT_EQ(client.Read().body, std::to_string(body.size()));
  EXPECT_GT(held - before, kMuchKiB);
}

TEST(HttpLimits, AHeaderThatTakesTooLongIsGivenUp) {
  TestServer server({.limits = {.header_time = 3s}});
  TestClient silent(server.port());
  TestClient slow(server.port());
  slow.Send("GET /hello HTTP/1.1\r\nHo");
  EXPECT_EQ(slow.Read().status, 408);
  EXPECT_TRUE(slow.ClosedWithin(kPatience));
  EXPECT_TRUE(silent.ClosedWithin(kPatience));
}

TEST(HttpLimits, ABodyThatTakesTooLongIsGivenUpHoweverItDrips) {
  // Much longer than the pause between two bytes: if each gave more time, it would never end.
  TestServer server({.limits = {.request_time = 3s}});
  TestClient client(server.port());
  client.Send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n");
  EXPECT_TRUE(WaitFor([&] { return client.ClosedWithin(10ms) || !client.Send("x"); }));
  const auto seen = server.observer->Wait(1);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].status, 408);
}

TEST(HttpLimits, AnIdleConnectionIsClosedAndABusyOneIsNot) {
  TestServer server({.limits = {.idle_time = 5s}});
  TestClient busy(server.port());
  EXPECT_EQ(busy.Get("/hello").status, 200);
  TestClient idle(server.port());
  EXPECT_EQ(idle.Get("/hello").status, 200);
  int served = 0, refused = 0;
  EXPECT_TRUE(WaitFor([&] {
    ++(busy.Get("/hello").status == 200 ? served : refused);
    return refused > 0 || idle.ClosedWithin(0ms);
  }));
  EXPECT_EQ(refused, 0) << "after " << served;
  EXPECT_EQ(busy.Get("/hello").status, 200);
}

TEST(HttpLimits, AClientThatDoesNotReadIsCutOff) {
  TestServer server({.limits = {.write_time = 300ms}});
  TestClient client(server.port(), 4096);
  client.Send("GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
  const auto seen = server.observer->Wait(1);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_FALSE(seen[0].complete);
  EXPECT_TRUE(WaitFor([&] { return server.server->counts().connections == 0; }));
}

TEST(HttpLimits, AConnectionServesOnlySoManyRequests) {
  TestServer server({.limits = {.requests_per_connection_max = 2}});
  TestClient client(server.port());
  EXPECT_EQ(client.Get("/hello").header("connection"), "");
  EXPECT_EQ(client.Get("/hello").header("connection"), "close");
  EXPECT_TRUE(client.ClosedWithin(kPatience));
}

}  // namespace
}  // namespace outbox::service
