#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "service/http/event_hub.h"
#include "service/http/test_server.h"

namespace outbox::service {
namespace {

using outbox::testing::kPatience;
using outbox::testing::WaitFor;
using namespace std::chrono_literals;

TEST(HttpStop, UnderLoadNoAnswerThatHasBegunIsCut) {
  TestServer server;
  std::atomic<bool> stop = false;
  std::atomic<int> answered = 0, unanswered = 0, broken = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        TestClient client(server.port());
        if (!client.connected()) break;
        for (int j = 0; j < 20 && !stop; ++j) {
          client.Send("GET /hello HTTP/1.1\r\nHost: h\r\n\r\n");
          const std::string head = client.ReadUntil("\r\n\r\n");
          const std::string body = head.empty() ? "" : client.ReadUntil("hello");
          if (head.empty()) {
            ++unanswered;
            break;
          }
          ++(head.ends_with("\r\n\r\n") && body == "hello" ? answered : broken);
          if (head.find("Connection: close") != std::string::npos) break;
        }
      }
    });
  }
  ASSERT_TRUE(WaitFor([&] { return answered > 200; }));
  // Well before idle connections would be closed anyway.
  EXPECT_OK(server.server->Stop(Deadline::After(30s)));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  std::printf("answered=%d unanswered=%d broken=%d\n", answered.load(), unanswered.load(),
              broken.load());
  EXPECT_EQ(broken, 0);
  EXPECT_FALSE(TestClient(server.port()).connected());
}

TEST(HttpStop, RequestsUnderWayAreFinishedAndIdleConnectionsClosed) {
  TestServer server({.limits = {.handle_time = 1h}});
  TestClient idle(server.port());
  EXPECT_EQ(idle.Get("/hello").status, 200);
  TestClient busy(server.port());
  busy.Send("GET /gate HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(WaitFor([&] { return server.gate->waiting() == 1; }));
  std::thread opener([&] {
    EXPECT_TRUE(idle.ClosedWithin(kPatience));
    server.gate->Open();
  });
  EXPECT_OK(server.server->Stop(Deadline::After(30s)));
  opener.join();
  const TestReply reply = busy.Read();
  EXPECT_EQ(reply.body, "passed");
  EXPECT_EQ(reply.header("connection"), "close");
}

TEST(HttpStop, AtTheDeadlineTheRestIsCutOff) {
  TestServer server({.limits = {.handle_time = 1h}});
  TestClient stuck(server.port());
  stuck.Send("GET /gate HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(WaitFor([&] { return server.gate->waiting() == 1; }));
  EXPECT_THAT(server.server->Stop(Deadline::After(400ms)), HasCode(Code::kDeadline));
  EXPECT_EQ(server.gate->waiting(), 1) << "it waited for the handler";
  EXPECT_EQ(stuck.Read().status, 0);
  server.gate->Open();
}

TEST(HttpStop, WithoutAStopTheDestructorDoesIt) {
  TestServer server;
  TestClient client(server.port());
  EXPECT_EQ(client.Get("/hello").status, 200);
  TestClient half(server.port());
  half.Send("GET /hel");
  server.server.reset();
  EXPECT_TRUE(client.ClosedWithin(kPatience));
  EXPECT_TRUE(half.ClosedWithin(kPatience));
}

TEST(HttpStop, StreamsAreEndedAfterWhatWasSent) {
  EventHub hub;
  const auto router = std::make_shared<Router>();
  router->Add(Method::kGet, "/events", [&](const Request&) { return StreamResponse(*hub.Add()); });
  auto streaming = Server::Start({}, {{.router = router}});
  ASSERT_OK(streaming);
  TestClient client((*streaming)->addresses().at(0).port);
  client.Send("GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.Read().status, 200);
  hub.Send("last", "{}");
  EXPECT_OK((*streaming)->Stop(Deadline::After(30s)));
  EXPECT_EQ(client.ReadToEnd(), "event: last\ndata: {}\n\n");
}

}  // namespace
}  // namespace outbox::service
