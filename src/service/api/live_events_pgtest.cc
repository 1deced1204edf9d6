// Many listeners of the live events, one of whom never reads: the relay does not notice.
#include <thread>

#include "service/api/api_suite.h"
#include "service/api/live_events.h"
#include "service/metrics/scrape.h"

namespace outbox::service {
namespace {

class LiveEventsSuite : public ApiSuite {
 protected:
  static constexpr int kRound = 2000;

  std::unique_ptr<TestClient> Listen(int receive_bytes = 0) const {
    auto client = std::make_unique<TestClient>(Port(), receive_bytes);
    client->Send("GET /api/v1/operator/events HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer " +
                 OperatorToken() + "\r\n\r\n");
    return client;
  }
  // How long the relay takes for a round of messages.
  std::chrono::milliseconds Deliver() {
    const std::uint64_t before = delivered_;
    Enqueue(orders_, std::vector<NewMessage>(kRound, Note(kAnn)));
    const auto started = std::chrono::steady_clock::now();
    EXPECT_TRUE(outbox::testing::WaitFor([&] { return delivered_ == before + kRound; }));
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                 started);
  }

  double Streams() const {
    return testing::Scrape(metrics_->Exposition()).Find("outbox_http_event_streams").value_or(-1);
  }
  // Tells of a change again and again. Each time all listeners have it before the next.
  void FloodUntil(const std::vector<std::unique_ptr<TestClient>>& listeners,
                  const std::function<bool()>& done) {
    constexpr int kBurst = 100;
    const Deadline deadline = Soon();
    std::vector<std::size_t> events(listeners.size());
    std::vector<char> last(listeners.size()), bytes(64 * 1024);
    for (std::size_t sent = 0; !done() && !deadline.passed();) {
      for (int i = 0; i < kBurst; ++i) {
        board_->OnStateChanged("flood", RelayState::kPaused, std::string(200, 'x'));
      }
      sent += kBurst;
      for (std::size_t i = 0; i < listeners.size(); ++i) {
        while (events[i] < sent) {
          const auto count = recv(listeners[i]->fd(), bytes.data(), bytes.size(), 0);
          ASSERT_GT(count, 0) << "a listener that reads was dropped";
          for (ssize_t at = 0; at < count; last[i] = bytes[static_cast<std::size_t>(at++)]) {
            events[i] += last[i] == '\n' && bytes[static_cast<std::size_t>(at)] == '\n';
          }
        }
      }
    }
  }

  std::atomic<std::uint64_t> delivered_ = 0;
  std::atomic<bool> down_ = false;
};
INSTANTIATE_TEST_SUITE_P(On, LiveEventsSuite,
                         ::testing::Values(ApiParam{"sqlite", [] { return std::string(); }}),
                         ApiParamName);

TEST_P(LiveEventsSuite, AListenerIsLetGoWhenItsTokenHasExpired) {
  RelayBoard board;
  LiveEvents events(board);
  const auto now =
      std::chrono::time_point_cast<Timestamp::duration>(std::chrono::system_clock::now());
  const auto expiring = events.Listen(now + std::chrono::seconds(1));
  const auto lasting = events.Listen(now + std::chrono::hours(1));
  const auto longest = events.Listen(base::kTimestampMax);
  ASSERT_OK(expiring);
  ASSERT_OK(lasting);
  ASSERT_OK(longest);
  EXPECT_TRUE(outbox::testing::WaitFor([&] { return (*expiring)->gone(); }));
  EXPECT_FALSE((*lasting)->gone());
  EXPECT_FALSE((*longest)->gone());
}

TEST_P(LiveEventsSuite, AHundredListenersAtOnceAndASlowOneDoNotDelayTheRelay) {
  StartService();
  auto relay = Relay::Start(url_,
                            {.table = orders_,
                             .probe_min = std::chrono::milliseconds(20),
                             .probe_max = std::chrono::milliseconds(50)},
                            MakeCallbackSink([&](const outbox::Message&, Deadline) {
                              if (down_) return Status::SinkDown("gone");
                              ++delivered_;
                              return Status::Ok();
                            }),
                            board_);
  ASSERT_OK(relay);
  const auto alone = Deliver();

  // All ask before any has an answer.
  std::vector<std::unique_ptr<TestClient>> listeners;
  for (int i = 0; i < 99; ++i) listeners.push_back(Listen());
  const auto never_reads = Listen(1024);
  for (const auto& listener : listeners) {
    ASSERT_THAT(listener->ReadUntil("event: counters"), ::testing::HasSubstr("200 OK"));
  }
  EXPECT_TRUE(outbox::testing::WaitFor([&] { return Streams() == 100; }));

  down_ = true;
  Enqueue(orders_, {Note(kAnn)});
  for (const auto& listener : listeners) {
    EXPECT_THAT(listener->ReadUntil("\"paused\""), ::testing::HasSubstr("event: relay"));
  }
  down_ = false;
  for (const auto& listener : listeners) {
    EXPECT_THAT(listener->ReadUntil("\"running\""), ::testing::HasSubstr("event: relay"));
  }
  EXPECT_TRUE(outbox::testing::WaitFor([&] { return delivered_ == kRound + 1; }));

  // Events, as fast as those who read can take them, until the one who does not is dropped; the
  // relay delivers meanwhile.
  std::thread flood([&] { FloodUntil(listeners, [&] { return Streams() < 100; }); });
  const auto together = Deliver();
  flood.join();
  EXPECT_EQ(Streams(), 99);
  // What else the machine does may have changed meanwhile.
  const auto usual = std::max(alone, Deliver());
  EXPECT_LT(together, 3 * usual + std::chrono::seconds(5))
      << usual.count() << " ms without a flood, " << together.count() << " ms with it";
  EXPECT_OK((*relay)->Stop());
  const auto stopping = std::chrono::steady_clock::now();
  EXPECT_OK(service_->Stop(Soon()));
  EXPECT_LT(std::chrono::steady_clock::now() - stopping, std::chrono::seconds(10));
}

}  // namespace
}  // namespace outbox::service
