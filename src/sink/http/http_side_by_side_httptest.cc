// Requests run side by side: each message is settled by its own answer, and its slot is free again.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>

#include "base/text.h"
#include "relay/engine.h"
#include "sink/http/http_test_sink.h"
#include "store/memory/memory_store.h"
#include "tests/support/http_server.h"
#include "tests/support/matchers.h"
#include "tests/support/wait.h"

namespace outbox::sink {
namespace {

using outbox::testing::HttpServer;
using outbox::testing::kPatience;
using outbox::testing::WaitFor;
using ::testing::Each;
using Reply = HttpServer::Reply;

class HttpSideBySide : public ::testing::Test {
 protected:
  void TearDown() override {
    released_ = true;
    if (engine_ != nullptr) (void)engine_->Stop();
  }

  void Answer(HttpServer::Handler handler) {
    server_ = HttpServer::Start({.handler = std::move(handler)});
    ASSERT_NE(server_, nullptr);
  }
  // Held back by the server until the test says otherwise.
  bool Hold() {
    return WaitFor([&] { return released_.load(); }, 3 * kPatience);
  }
  std::string Uri(const std::string& options = "") const {
    return base::StrCat(server_->url(), "/?outbox.allow=127.0.0.0/8&outbox.timeout=5m", options);
  }
  void Relay(std::size_t messages, const std::string& options = "") {
    for (std::size_t i = 0; i < messages; ++i) {
      store_.Put({.topic = "test.message.put.v1", .payload = "{}"});
    }
    RelayOptions relay_options{.table = "t"};
    relay_options.dispatch_timeout = std::chrono::minutes(5);
    relay_options.shutdown_timeout = kPatience;
    engine_ =
        *relay::Engine::Start(relay_options, "t", store_.OpenRelay({.table = "t", .relay_id = "r"}),
                              SinkAt(Uri(options)), nullptr);
  }
  std::size_t Delivered() const {
    const auto rows = store_.Rows();
    return static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [](const auto& row) {
      return row.status == MessageStatus::kDelivered;
    }));
  }
  std::vector<int> Attempts() const {
    std::vector<int> attempts;
    for (const auto& row : store_.Rows()) attempts.push_back(row.message.attempt);
    return attempts;
  }

  std::atomic<bool> released_ = false;
  store::MemoryStore store_;
  std::unique_ptr<HttpServer> server_;
  std::shared_ptr<relay::Engine> engine_;
};

TEST_F(HttpSideBySide, AMessageIsSettledWhileAnotherIsNotAnswered) {
  std::atomic<int> asked = 0;
  Answer([&](const HttpServer::Request&) {
    if (++asked == 1) Hold();
    return Reply{};
  });
  Relay(100);
  EXPECT_TRUE(WaitFor([&] { return Delivered() == 99; })) << Delivered();
  EXPECT_FALSE(released_);
  EXPECT_EQ(server_->requests().size(), 100u);
  released_ = true;
  EXPECT_TRUE(WaitFor([&] { return Delivered() == 100; })) << Delivered();
  EXPECT_EQ(server_->requests().size(), 100u) << "each once";
  EXPECT_THAT(Attempts(), Each(1));
}

// Two of 64 are held back; each of the others is answered when 62 are there at once.
TEST_F(HttpSideBySide, SlowRequestsLeaveAllOtherSlotsWorking) {
  std::atomic<int> asked = 0;
  std::atomic<int> others = 0;
  Answer([&](const HttpServer::Request&) {
    if (++asked <= 2) {
      Hold();
      return Reply{};
    }
    ++others;
    return Reply{.status = WaitFor([&] { return others >= 62; }) ? 200 : 400};
  });
  Relay(64);
  EXPECT_TRUE(WaitFor([&] { return Delivered() == 62; })) << Delivered();
  EXPECT_FALSE(released_);
}

// A fifth of the messages fail, and not before all others have been delivered.
TEST_F(HttpSideBySide, SlowFailuresCostTheOthersNothing) {
  std::atomic<int> asked = 0;
  Answer([&](const HttpServer::Request&) {
    if (++asked % 5 != 0 || released_) return Reply{};
    Hold();
    return Reply{.status = 500};
  });
  Relay(50, "&outbox.concurrency=12");
  EXPECT_TRUE(WaitFor([&] { return Delivered() == 40; })) << Delivered();
  EXPECT_FALSE(released_);
  released_ = true;
  EXPECT_TRUE(WaitFor([&] { return Delivered() == 50; })) << Delivered();
  EXPECT_EQ(std::ranges::count(Attempts(), 1), 40);
  EXPECT_EQ(std::ranges::count(Attempts(), 2), 10);
}

// Each batch is answered when four are there at once.
TEST_F(HttpSideBySide, BatchesAreInFlightTogether) {
  std::atomic<int> waiting = 0;
  Answer([&](const HttpServer::Request&) {
    ++waiting;
    return Reply{.status = WaitFor([&] { return waiting >= 4; }) ? 200 : 400};
  });
  Relay(40, "&outbox.batch=true&outbox.batch_max=10&outbox.concurrency=4");
  EXPECT_TRUE(WaitFor([&] { return Delivered() == 40; })) << Delivered();
}

TEST_F(HttpSideBySide, CloseEndsCallsThatAreInFlightAndTheSinkOpensAgain) {
  Answer([&](const HttpServer::Request&) {
    Hold();
    return Reply{};
  });
  const auto sink = SinkAt(Uri());
  ASSERT_OK(sink->Open(Deadline::After(kPatience)));
  std::vector<std::future<Status>> calls;
  for (int i = 0; i < 8; ++i) {
    calls.push_back(
        std::async(std::launch::async, [&] { return PublishOne(*sink, 3 * kPatience); }));
  }
  ASSERT_TRUE(WaitFor([&] { return server_->requests().size() == 8; }));
  sink->Close(Deadline::After(kPatience));
  for (auto& call : calls) {
    const Status status = call.get();
    EXPECT_EQ(status.disposition(), Disposition::kInDoubt) << status.ToString();
  }
  EXPECT_FALSE(released_);
  released_ = true;
  EXPECT_OK(PublishOne(*sink, kPatience));
}

TEST_F(HttpSideBySide, ACallEndsAtItsDeadlineAndTheSinkWithoutIt) {
  Answer([&](const HttpServer::Request&) {
    Hold();
    return Reply{};
  });
  auto sink = SinkAt(Uri());
  auto call =
      std::async(std::launch::async, [sink] { return PublishOne(*sink, std::chrono::seconds(3)); });
  sink.reset();
  ASSERT_EQ(call.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(call.get().disposition(), Disposition::kInDoubt);
  EXPECT_FALSE(released_);
}

TEST_F(HttpSideBySide, RequestsOfManyCallsShareConnections) {
  Answer({});
  const auto sink = SinkAt(Uri("&outbox.concurrency=4"));
  for (int round = 0; round < 20; ++round) EXPECT_OK(PublishOne(*sink));
  EXPECT_EQ(server_->connections(), 1u);
  for (const Status& status : PublishAll(*sink, SomeMessages(200))) EXPECT_OK(status);
  EXPECT_LE(server_->connections(), 4u);
}

TEST_F(HttpSideBySide, EveryMessageCarriesItsWebhookIdWithoutASecret) {
  Answer({});
  const auto messages = SomeMessages(3);
  for (const Status& status : PublishAll(*SinkAt(Uri()), messages)) EXPECT_OK(status);
  std::map<std::string, int> ids;
  for (const auto& request : server_->requests()) {
    ++ids[request.headers.at("webhook-id")];
    EXPECT_FALSE(request.headers.contains("webhook-signature"));
  }
  for (const Message& message : messages) EXPECT_EQ(ids[message.id.ToString()], 1);
}

TEST_F(HttpSideBySide, OpenTellsOfAnAddressThatIsNotAllowed) {
  Answer({});
  const Status blocked = SinkAt(server_->url())->Open(Deadline::After(kPatience));
  EXPECT_EQ(blocked.disposition(), Disposition::kSinkDown);
  EXPECT_THAT(blocked.message(), ::testing::HasSubstr("address not allowed"));
  EXPECT_THAT(blocked.hint(), ::testing::HasSubstr("outbox.allow"));
  EXPECT_OK(SinkAt(Uri())->Open(Deadline::After(kPatience)));
  // The proxy connects, not we.
  const auto behind = SinkAt("http://10.0.0.1/?outbox.proxy=http://127.0.0.1:1");
  EXPECT_OK(behind->Open(Deadline::After(kPatience)));
  EXPECT_EQ(server_->connections(), 0u);
}

}  // namespace
}  // namespace outbox::sink
