// Many listeners of the live events, one of whom never reads: the relay does not notice.
#include "service/api/api_suite.h"

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

  std::atomic<std::uint64_t> delivered_ = 0;
  std::atomic<bool> down_ = false;
};
INSTANTIATE_TEST_SUITE_P(On, LiveEventsSuite,
                         ::testing::Values(ApiParam{"sqlite", [] { return std::string(); }}),
                         ApiParamName);

TEST_P(LiveEventsSuite, AHundredListenersDoNotDelayTheRelay) {
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

  std::vector<std::unique_ptr<TestClient>> listeners;
  // One after the other: a hundred requests at once would be too much for the workers.
  for (int i = 0; i < 99; ++i) {
    listeners.push_back(Listen());
    ASSERT_THAT(listeners.back()->ReadUntil("event: counters"), ::testing::HasSubstr("200 OK"));
  }
  const auto never_reads = Listen(1024);
  const auto together = Deliver();
  EXPECT_LT(together, 3 * alone + std::chrono::seconds(2))
      << alone.count() << " ms alone, " << together.count() << " ms with listeners";

  down_ = true;
  Enqueue(orders_, {Note(kAnn)});
  for (const auto& listener : listeners) {
    EXPECT_THAT(listener->ReadUntil("\"paused\""), ::testing::HasSubstr("event: relay"));
  }
  down_ = false;
  for (const auto& listener : listeners) {
    EXPECT_THAT(listener->ReadUntil("\"running\""), ::testing::HasSubstr("event: relay"));
  }
  EXPECT_TRUE(outbox::testing::WaitFor([&] { return delivered_ == 2 * kRound + 1; }));
  EXPECT_OK((*relay)->Stop());
  const auto stopping = std::chrono::steady_clock::now();
  EXPECT_OK(service_->Stop(Soon()));
  EXPECT_LT(std::chrono::steady_clock::now() - stopping, std::chrono::seconds(10));
}

}  // namespace
}  // namespace outbox::service
