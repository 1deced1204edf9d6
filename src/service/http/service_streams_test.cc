#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "service/http/event_hub.h"
#include "service/http/test_server.h"

namespace outbox::service {
namespace {

using outbox::testing::kPatience;
using outbox::testing::WaitFor;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST(EventStream, EventsAreFramed) {
  EXPECT_EQ(FormatEvent("state", "{\"a\":1}", "7"), "id: 7\nevent: state\ndata: {\"a\":1}\n\n");
  EXPECT_EQ(FormatEvent("", "a\nb\r\nc\rd"), "data: a\ndata: b\ndata: c\ndata: d\n\n");
  EXPECT_EQ(FormatEvent("evil\ndata: x", ""), "event: evil\ndata: \n\n");
}

TEST(EventStream, AListenerThatIsTooSlowIsDropped) {
  EventStream stream({.buffer_bytes_max = 100});
  int woken = 0;
  stream.Attach([&] { ++woken; });
  EXPECT_TRUE(stream.SendText(std::string(60, 'a')));
  EXPECT_TRUE(stream.SendText(std::string(40, 'b')));
  EXPECT_EQ(woken, 1);
  EXPECT_FALSE(stream.SendText("c"));
  EXPECT_EQ(woken, 2);
  EXPECT_TRUE(stream.gone());
  EXPECT_TRUE(stream.Take().dropped);
  EXPECT_FALSE(stream.SendText("d"));
}

TEST(EventStream, ClosingLetsWhatWasSentThrough) {
  EventStream stream;
  EXPECT_TRUE(stream.Send("a", "1"));
  stream.Close();
  EXPECT_FALSE(stream.Send("b", "2"));
  const auto taken = stream.Take();
  EXPECT_EQ(taken.text, "event: a\ndata: 1\n\n");
  EXPECT_TRUE(taken.closed);
  EXPECT_FALSE(taken.dropped);
}

TEST(EventStream, GoneIsToldOnce) {
  EventStream stream;
  int told = 0;
  stream.OnGone([&] { ++told; });
  stream.Detach();
  stream.Detach();
  EXPECT_EQ(told, 1);
  stream.OnGone([&] { ++told; });
  EXPECT_EQ(told, 2);
  EXPECT_FALSE(stream.Send("a", "1"));
}

class HttpStreams : public ::testing::Test {
 protected:
  void Start(EventStreamOptions options = {}, Limits limits = {}, std::size_t listeners_max = 256) {
    hub_ = std::make_unique<EventHub>(listeners_max, options);
    router_->Add(Method::kGet, "/events", [this](const Request&) {
      auto stream = hub_->Add();
      return stream.ok() ? StreamResponse(*stream) : ProblemOf(stream.error());
    });
    auto server = Server::Start({.limits = limits}, {{.router = router_}}, observer_);
    ASSERT_OK(server);
    server_ = *std::move(server);
  }
  std::unique_ptr<TestClient> Listen(int receive_bytes = 0) {
    auto client = std::make_unique<TestClient>(server_->addresses().at(0).port, receive_bytes);
    client->Send("GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
    const TestReply reply = client->Read();
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.header("content-type"), "text/event-stream");
    EXPECT_EQ(reply.header("cache-control"), "no-store");
    return client;
  }

  std::unique_ptr<EventHub> hub_;
  const std::shared_ptr<Router> router_ = std::make_shared<Router>();
  const std::shared_ptr<RecordingObserver> observer_ = std::make_shared<RecordingObserver>();
  std::unique_ptr<Server> server_;
};

TEST_F(HttpStreams, EventsArriveInOrder) {
  Start();
  const auto client = Listen();
  for (int i = 0; i < 100; ++i) hub_->Send("n", std::to_string(i));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(client->ReadUntil("\n\n"), "event: n\ndata: " + std::to_string(i) + "\n\n");
  }
}

TEST_F(HttpStreams, AHundredListenersAndASlowOneNeverHoldUpTheSender) {
  constexpr int kListeners = 100;
  constexpr int kEvents = 1000;
  // Room for all events, and time for the slow one to stay until the others have them.
  Start({.buffer_bytes_max = 4 << 20}, {.write_time = kPatience});
  const auto slow = Listen(4096);  // never reads
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < kListeners - 1; ++i) clients.push_back(Listen());
  EXPECT_EQ(hub_->listeners(), static_cast<std::size_t>(kListeners));

  std::atomic<int> complete = 0;
  std::vector<std::thread> readers;
  for (int r = 0; r < 4; ++r) {
    readers.emplace_back([&, r] {
      for (std::size_t i = static_cast<std::size_t>(r); i < clients.size(); i += 4) {
        if (clients[i]->ReadUntil("event: end\n").ends_with("event: end\n")) ++complete;
      }
    });
  }
  // Far more than the kernel holds for the slow one.
  const std::string json = "{\"filler\":\"" + std::string(900, 'f') + "\"}";
  for (int i = 0; i < kEvents; ++i) hub_->Send("tick", json);
  hub_->Send("end", "{}");
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(complete, kListeners - 1);
  // Whoever had waited for the slow one would have waited until it was given up.
  EXPECT_EQ(hub_->listeners(), static_cast<std::size_t>(kListeners));
  // The slow one alone is fed until it is dropped: what its side of the kernel takes is not ours to
  // bound.
  for (auto& client : clients) client.reset();
  for (int i = 0; i < 100'000 && hub_->listeners() > 0; ++i) hub_->Send("tick", json);
  EXPECT_EQ(hub_->listeners(), 0u);
  EXPECT_TRUE(WaitFor([&] { return server_->counts().connections == 0; }));
}

TEST_F(HttpStreams, HeartbeatsGoOnWhileNothingHappens) {
  Start({.heartbeat = 50ms});
  const auto client = Listen();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client->ReadUntil("\n\n"), ": alive\n\n");
  hub_->Send("a", "1");
  EXPECT_THAT(client->ReadUntil("data: 1\n\n"), HasSubstr("event: a\ndata: 1\n\n"));
}

TEST_F(HttpStreams, AListenerThatLeavesIsNoticedWithoutSending) {
  Start({.heartbeat = 1h});
  auto client = Listen();
  EXPECT_EQ(hub_->listeners(), 1u);
  client.reset();
  EXPECT_TRUE(WaitFor([&] { return hub_->listeners() == 0; }));
  EXPECT_TRUE(WaitFor([&] { return server_->counts().connections == 0; }));
  const auto seen = observer_->Wait(1);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_TRUE(seen[0].stream);
  EXPECT_EQ(seen[0].route, "/events");
}

TEST_F(HttpStreams, ClosingTheHubEndsTheConnections) {
  Start();
  const auto client = Listen();
  hub_->Send("a", "1");
  hub_->Close();
  EXPECT_EQ(client->ReadToEnd(), "event: a\ndata: 1\n\n");
}

TEST_F(HttpStreams, TooManyListenersAreRefused) {
  Start({}, {}, 1);
  const auto client = Listen();
  TestClient second(server_->addresses().at(0).port);
  const TestReply refused = second.Get("/events");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("retry-after"), "1");
}

TEST_F(HttpStreams, HeadOfAStreamHasNoEvents) {
  Start();
  TestClient client(server_->addresses().at(0).port);
  client.Send("HEAD /events HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.Read(true).status, 200);
  EXPECT_TRUE(client.ClosedWithin(kPatience));
  EXPECT_TRUE(WaitFor([&] { return hub_->listeners() == 0; }));
}

TEST_F(HttpStreams, SendersMayOutliveTheServer) {
  Start();
  const auto client = Listen();
  std::atomic<bool> stop = false;
  std::thread sender([&] {
    while (!stop) hub_->Send("a", "1");
  });
  client->ReadUntil("data: 1\n\n");
  server_.reset();
  for (int i = 0; i < 1000; ++i) hub_->Send("b", "2");
  stop = true;
  sender.join();
  EXPECT_EQ(hub_->listeners(), 0u);
}

}  // namespace
}  // namespace outbox::service
