// Many listeners of the live events, one of whom never reads: the relay does not notice.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <thread>

#include "service/api/api_suite.h"
#include "service/api/live_events.h"
#include "service/auth/base64url.h"
#include "service/metrics/scrape.h"

namespace outbox::service {
namespace {

class LiveEventsSuite : public ApiSuite {
 protected:
  using Listeners = std::vector<std::unique_ptr<TestClient>>;
  static constexpr int kListeners = 100;
  static constexpr int kRound = 1000;

  std::unique_ptr<TestClient> Listen(int receive_bytes = 0) const {
    auto client = std::make_unique<TestClient>(Port(), receive_bytes);
    client->Send("GET /api/v1/operator/events HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer " +
                 OperatorToken() + "\r\n\r\n");
    return client;
  }
  // True when the relay has delivered a round of messages.
  bool Deliver() {
    const std::uint64_t before = delivered_;
    Enqueue(orders_, std::vector<NewMessage>(kRound, Note(kAnn)));
    return outbox::testing::WaitFor([&] { return delivered_ == before + kRound; });
  }

  double Streams() const {
    return testing::Scrape(metrics_->Exposition()).Find("outbox_http_event_streams").value_or(-1);
  }
  // About 35 KiB of events to each listener. All but the one who never reads have them afterwards.
  bool Burst(const Listeners& listeners) {
    for (int i = 0; i < 100; ++i) {
      board_->OnStateChanged("flood", RelayState::kPaused, std::string(200, 'x'));
    }
    const std::string last = base::StrCat("burst ", ++bursts_, " ends");
    board_->OnStateChanged("flood", RelayState::kPaused, last);
    return std::all_of(listeners.begin(), listeners.end(), [&](const auto& listener) {
      return listener->ReadUntil(last).ends_with(last);
    });
  }
  // By an event of the relay itself.
  void ExpectToldOf(RelayState state, const Listeners& listeners) const {
    const std::string event =
        base::StrCat("event: relay\ndata: {\"name\":\"", orders_, "\",\"table\":\"", orders_,
                     "\",\"state\":\"", ToString(state), "\"");
    for (const auto& listener : listeners) {
      EXPECT_THAT(listener->ReadUntil(event), ::testing::EndsWith(event));
    }
  }

  std::atomic<std::uint64_t> delivered_ = 0;
  std::atomic<bool> down_ = false;
  int bursts_ = 0;
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

TEST_P(LiveEventsSuite, AListenerIsLetGoWhenTheKeyOfItsTokenIsGone) {
  const std::vector<std::string> secrets{std::string(40, 'a'), std::string(40, 'b')};
  const auto key = [&](int number) {
    return base::StrCat(R"({"kty":"oct","alg":"HS256","kid":"key)", number, R"(","k":")",
                        Base64UrlEncode(secrets[static_cast<std::size_t>(number)]), R"("})");
  };
  const std::string file = folder_.File("keys.json");
  std::ofstream(file) << R"({"keys":[)" << key(0) << "," << key(1) << "]}";
  options_.auth.jwks_file = file;
  StartService();
  const auto listen = [&](int number) {
    MintedClaims claims{.subject = "olga", .operator_scope = true};
    claims.issued = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    claims.expires = claims.issued + std::chrono::hours(1);
    auto client = std::make_unique<TestClient>(Port());
    client->Send(
        "GET /api/v1/operator/events HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer " +
        MintToken(claims, secrets[static_cast<std::size_t>(number)], base::StrCat("key", number)) +
        "\r\n\r\n");
    return client;
  };
  const auto revoked = listen(0), kept = listen(1);
  for (const auto& client : {revoked.get(), kept.get()}) {
    ASSERT_THAT(client->ReadUntil("event: counters"), ::testing::HasSubstr("200 OK"));
  }
  std::ofstream(file + ".new") << R"({"keys":[)" << key(1) << "]}";
  ASSERT_EQ(std::rename((file + ".new").c_str(), file.c_str()), 0);
  EXPECT_TRUE(revoked->ClosedWithin(outbox::testing::kPatience));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(kept->ReadUntil("event: counters"), ::testing::HasSubstr("event: counters"));
  }
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
  ASSERT_TRUE(Deliver());

  // All ask before any has an answer.
  Listeners listeners;
  for (int i = 1; i < kListeners; ++i) listeners.push_back(Listen());
  const auto never_reads = Listen(1024);
  for (const auto& listener : listeners) {
    ASSERT_THAT(listener->ReadUntil("event: counters"), ::testing::HasSubstr("200 OK"));
  }
  EXPECT_TRUE(outbox::testing::WaitFor([&] { return Streams() == kListeners; }));

  // More than the kernel takes for the one who does not read, and less than it is dropped for.
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(Burst(listeners));
  down_ = true;
  Enqueue(orders_, {Note(kAnn)});
  ExpectToldOf(RelayState::kWaitingForSink, listeners);
  down_ = false;
  ExpectToldOf(RelayState::kRunning, listeners);
  EXPECT_TRUE(outbox::testing::WaitFor([&] { return delivered_ == kRound + 1; }));
  EXPECT_TRUE(Deliver());
  // A relay that had waited for it would have waited until it was cut off.
  EXPECT_EQ(Streams(), kListeners);

  // Events, as fast as those who read can take them, until the one who does not is dropped and the
  // relay has delivered meanwhile.
  std::atomic<bool> delivered = false;
  std::thread flood([&] {
    EXPECT_TRUE(outbox::testing::WaitFor(
        [&] { return !Burst(listeners) || (delivered && Streams() < kListeners); }));
  });
  delivered = Deliver();
  flood.join();
  EXPECT_TRUE(delivered);
  EXPECT_EQ(Streams(), kListeners - 1) << "a listener that reads was dropped";
  EXPECT_OK((*relay)->Stop());
  EXPECT_OK(service_->Stop(Soon()));
}

}  // namespace
}  // namespace outbox::service
