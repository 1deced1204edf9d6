// Known traffic through real relays, then a scrape: each number is compared with what happened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <span>

#include "message/routes.h"
#include "outbox/relay.h"
#include "relay/engine.h"
#include "relay/splitter.h"
#include "service/metrics/metrics_observer.h"
#include "service/metrics/scrape.h"
#include "service/metrics/stats_sampler.h"
#include "store/backend.h"
#include "store/memory/memory_store.h"
#include "tests/support/matchers.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait.h"

namespace outbox::service {
namespace {

using namespace std::chrono_literals;
using outbox::testing::kPatience;
using outbox::testing::WaitFor;
using testing::Labels;
using ::testing::Optional;
using testing::Scrape;

// A sink that answers by topic, and keeps books of its own.
class BookedSink {
 public:
  std::shared_ptr<Sink> Make() {
    return MakeCallbackSink([this](const Message& message, Deadline) { return Answer(message); },
                            2);
  }

  // Answers given, by topic and meaning.
  std::map<std::pair<std::string, std::string>, double> books() {
    const std::lock_guard lock(mutex_);
    return books_;
  }

 private:
  Status Answer(const Message& message) {
    const std::lock_guard lock(mutex_);
    const auto answer = [&](const char* meaning, Status status) {
      ++books_[{message.topic, meaning}];
      return status;
    };
    if (message.topic == "flaky" && message.attempt < 3) {
      return answer("retry", Status::Retry(Code::kUnavailable, "not yet"));
    }
    if (message.topic == "hopeless") {
      return answer("retry", Status::Retry(Code::kUnavailable, "never"));
    }
    if (message.topic == "refused") {
      return answer("rejected", Status::Permanent(Code::kRejected, "no"));
    }
    if (message.topic == "outage" && outages_++ < 3) {
      return answer("sink_down", Status::SinkDown("away"));
    }
    return answer("delivered", Status::Ok());
  }

  std::mutex mutex_;
  int outages_ = 0;
  std::map<std::pair<std::string, std::string>, double> books_;
};

class MetricsTraffic : public ::testing::Test {
 protected:
  MetricsTraffic() {
    options_.table = "memory";
    options_.poll_min = 1ms;
    options_.poll_max = 20ms;
    options_.retry = {.base = 5ms, .cap = 20ms, .jitter = Jitter::kNone, .attempts_max = 3};
    options_.probe_min = 5ms;
    options_.probe_max = 20ms;
  }

  void Put(int count, const std::string& topic) {
    for (int i = 0; i < count; ++i) store_.Put({.topic = topic, .payload = "{}"});
  }

  std::shared_ptr<relay::Engine> Start(std::shared_ptr<Sink> sink) {
    return *relay::Engine::Start(options_, "memory",
                                 store_.OpenRelay({.table = "memory", .relay_id = "r"}),
                                 std::move(sink), metrics_);
  }

  Scrape Scraped() const { return Scrape(metrics_->Exposition()); }

  static Labels Topic(const std::string& topic) { return {{"table", "memory"}, {"topic", topic}}; }
  static Labels Settled(const std::string& result) {
    return {{"table", "memory"}, {"sink", "default"}, {"result", result}};
  }

  store::MemoryStore store_;
  RelayOptions options_;
  BookedSink sink_;
  std::shared_ptr<MetricsObserver> metrics_ = std::make_shared<MetricsObserver>();
};

TEST_F(MetricsTraffic, EveryNumberIsWhatHappened) {
  Put(50, "good");
  Put(10, "flaky");
  Put(5, "hopeless");
  Put(4, "refused");
  Put(20, "outage");
  const auto engine = Start(sink_.Make());
  ASSERT_OK(engine->Drain(Deadline::After(kPatience)));
  // An observer may still be told of the last answers while the relay has drained.
  ASSERT_OK(engine->Stop());
  const Scrape scrape = Scraped();

  std::map<std::pair<std::string, std::string>, double> dispatched;
  std::map<std::pair<std::string, std::string>, double> timed;
  std::map<std::pair<std::string, std::string>, double> answered;
  for (const auto& [labels, count] : scrape.All("outbox_dispatch_total")) {
    if (count > 0) answered[{labels.at("topic"), labels.at("result")}] = count;
    if (count > 0 && labels.at("result") == "success") {
      dispatched[{labels.at("topic"), "delivered"}] = count;
    }
  }
  for (const auto& [labels, count] : scrape.All("outbox_dispatch_failures_total")) {
    if (count > 0) dispatched[{labels.at("topic"), labels.at("reason")}] = count;
  }
  for (const auto& [labels, count] : scrape.All("outbox_dispatch_latency_seconds_count")) {
    timed[{labels.at("topic"), labels.at("result")}] = count;
  }
  auto books = sink_.books();
  EXPECT_EQ(dispatched, books);
  EXPECT_EQ(timed, answered);
  EXPECT_EQ(answered[std::pair("hopeless", "failure")], 15);
  EXPECT_EQ(answered[std::pair("flaky", "failure")], 20);
  EXPECT_EQ(dispatched[std::pair("good", "delivered")], 50);
  EXPECT_EQ(dispatched[std::pair("flaky", "retry")], 20);
  EXPECT_EQ(dispatched[std::pair("flaky", "delivered")], 10);
  EXPECT_EQ(dispatched[std::pair("hopeless", "retry")], 15);
  EXPECT_EQ(dispatched[std::pair("refused", "rejected")], 4);
  EXPECT_EQ(dispatched[std::pair("outage", "sink_down")], 3);
  EXPECT_EQ(dispatched[std::pair("outage", "delivered")], 20);

  EXPECT_THAT(scrape.Find("outbox_dead_total", Topic("hopeless")), Optional(5));
  EXPECT_THAT(scrape.Find("outbox_dead_total", Topic("refused")), Optional(4));
  EXPECT_THAT(scrape.Find("outbox_dead_total", Topic("good")), Optional(0));
  EXPECT_THAT(scrape.Find("outbox_publish_delay_seconds_count", {{"table", "memory"}}),
              Optional(80));

  const RelayStats stats = engine->Stats();
  EXPECT_THAT(scrape.Find("outbox_settled_total", Settled("delivered")), Optional(80));
  EXPECT_THAT(scrape.Find("outbox_settled_total", Settled("retry")), Optional(30));
  EXPECT_THAT(scrape.Find("outbox_settled_total", Settled("dead")), Optional(9));
  EXPECT_THAT(scrape.Find("outbox_settled_total", Settled("lost")), Optional(0));
  EXPECT_THAT(scrape.Find("outbox_settled_total", Settled("released")),
              Optional(static_cast<double>(stats.released)));
  EXPECT_GE(stats.released, 3U);
  const Labels relay{{"table", "memory"}, {"sink", "default"}};
  EXPECT_THAT(scrape.Find("outbox_claimed_total", relay),
              Optional(static_cast<double>(stats.claimed)));
  EXPECT_EQ(stats.claimed, 80 + 30 + 9 + stats.released);
  EXPECT_THAT(scrape.All("outbox_store_errors_total"), ::testing::IsEmpty());
  EXPECT_THAT(scrape.Find("outbox_lease_lost_total", {{"table", "memory"}}), Optional(0));
  Labels stopped = relay;
  stopped["state"] = "stopped";
  EXPECT_THAT(scrape.Find("outbox_relay_state", stopped), Optional(1));
}

TEST_F(MetricsTraffic, FailedCallsAndLostLeasesAreCounted) {
  Put(1, "good");
  store_.FailNext(store::MemoryStore::Call::kNext, Status::Retry(Code::kUnavailable, "x"));
  store_.LoseNextSettleAnswer(Status::InDoubt(Code::kUnavailable, "connection lost"));
  const auto engine = Start(sink_.Make());
  EXPECT_TRUE(
      WaitFor([&] { return Scraped().Find("outbox_settled_total", Settled("lost")) == 1; }));
  ASSERT_OK(engine->Stop());
  const Scrape scrape = Scraped();
  for (const std::string operation : {"claim", "settle"}) {
    EXPECT_THAT(
        scrape.Find("outbox_store_errors_total", {{"table", "memory"}, {"operation", operation}}),
        Optional(1))
        << operation;
  }
  EXPECT_THAT(scrape.Find("outbox_lease_lost_total", {{"table", "memory"}}), Optional(1));
  EXPECT_THAT(scrape.Find("outbox_settled_total", Settled("delivered")), Optional(0));
}

TEST_F(MetricsTraffic, ASinkThatIsDownAndComesBackShows) {
  std::atomic<bool> down{true};
  Put(3, "good");
  const auto engine = Start(MakeCallbackSink(
      [&](const Message&, Deadline) { return down ? Status::SinkDown("away") : Status::Ok(); }));
  const auto up = [&] {
    return Scraped().Find("outbox_sink_up", {{"table", "memory"}, {"sink", "default"}});
  };
  EXPECT_TRUE(WaitFor([&] { return up() == 0; }));
  down = false;
  EXPECT_TRUE(WaitFor([&] { return up() == 1; }));
  ASSERT_OK(engine->Stop());
}

TEST_F(MetricsTraffic, OneOfTwoSingleActiveRelaysLeads) {
  options_.single_active = true;
  const auto standby_metrics = std::make_shared<MetricsObserver>();
  const auto leader_of = [](const MetricsObserver& metrics) {
    return Scrape(metrics.Exposition()).Find("outbox_relay_leader", {{"table", "memory"}});
  };
  const auto leader = Start(sink_.Make());
  EXPECT_TRUE(WaitFor([&] { return leader_of(*metrics_) == 1; }));
  const auto standby = *relay::Engine::Start(
      options_, "memory", store_.OpenRelay({.table = "memory", .relay_id = "other"}), sink_.Make(),
      standby_metrics);
  EXPECT_TRUE(WaitFor([&] { return leader_of(*standby_metrics) == 0; }));
  ASSERT_OK(leader->Stop());
  EXPECT_THAT(leader_of(*metrics_), Optional(0));
  EXPECT_TRUE(WaitFor([&] { return leader_of(*standby_metrics) == 1; }));
  ASSERT_OK(standby->Stop());
}

#if OUTBOX_WITH_SQLITE
// A table with routes in a file: enqueue, split, two sinks, the counts of the table.
class MetricsRoutes : public ::testing::Test {
 protected:
  static constexpr const char* kTable = "orders_outbox";
  static Deadline Soon() { return Deadline::After(kPatience); }

  void SetUp() override {
    auto migrator = backend_->OpenMigrator(Soon());
    ASSERT_OK(migrator);
    ASSERT_OK((*migrator)->Up({.table = kTable}, Soon()));
  }

  void Enqueue(std::span<const NewMessage> messages) {
    auto session = std::move(backend_->OpenSession(Soon())).value();
    ASSERT_OK(session->Begin());
    ASSERT_OK(EnqueueMany(session->executor(), kTable, messages,
                          {.topics = TopicRule::kRelaxed, .observer = metrics_.get()}));
    ASSERT_OK(session->Commit());
  }

  std::unique_ptr<Relay> StartRelay(const std::string& destination, Handler handler) {
    auto relay = Relay::Start(database_,
                              {.table = kTable,
                               .destination = destination,
                               .retry = {.base = 5ms, .cap = 5ms, .jitter = Jitter::kNone}},
                              MakeCallbackSink(std::move(handler), 1), metrics_);
    EXPECT_OK(relay);
    return std::move(relay).value();
  }

  Scrape Scraped() const { return Scrape(metrics_->Exposition()); }

  outbox::testing::TempFolder folder_;
  const std::string database_ = "sqlite:" + folder_.File("shop.db");
  std::unique_ptr<store::Backend> backend_ = std::move(store::OpenBackend(database_)).value();
  std::shared_ptr<MetricsObserver> metrics_ = std::make_shared<MetricsObserver>();
};

TEST_F(MetricsRoutes, EverySinkHasItsOwnNumbers) {
  std::vector<NewMessage> messages;
  for (int i = 0; i < 7; ++i) messages.push_back({.topic = "a.b.placed.v1", .payload = "1"});
  for (int i = 0; i < 3; ++i) messages.push_back({.topic = "a.b.paid.v1", .payload = "2"});
  messages.push_back({.topic = "lonely.b.c.v1", .payload = "3"});
  messages[0].dedupe_key = messages[1].dedupe_key = "the same";
  Enqueue(messages);

  const auto rabbit = StartRelay("rabbit", [](const Message&, Deadline) { return Status::Ok(); });
  const auto hook = StartRelay("hook", [](const Message& message, Deadline) {
    return message.topic == "a.b.paid.v1" ? Status::Permanent(Code::kRejected, "no") : Status::Ok();
  });
  auto split = backend_->OpenSplit({.table = kTable, .unrouted = message::Unrouted::kDead}, Soon());
  ASSERT_OK(split);
  const auto splitter = relay::Splitter::Start(
      std::move(*split), message::Routes({{.topics = "a.#", .destinations = {"rabbit", "hook"}}}),
      {.table = kTable},
      [&] {
        rabbit->Wake();
        hook->Wake();
      },
      metrics_);
  auto inspect = backend_->OpenInspect(kTable, Soon());
  ASSERT_OK(inspect);
  const auto sampler =
      StatsSampler::Start({{kTable, AskStatsOf(std::move(*inspect))}}, 20ms, metrics_, metrics_);
  const Labels table{{"table", kTable}};
  // 6 placed and 3 paid went to two sinks; the paid and the lonely one are dead.
  EXPECT_TRUE(WaitFor([&] {
    const Scrape scrape = Scraped();
    return scrape.Find("outbox_dead_messages", table) == 4 &&
           scrape.Find("outbox_locked", table) == 0 && scrape.Find("outbox_pending", table) == 0;
  })) << metrics_->Exposition();
  splitter->Stop();
  ASSERT_OK(rabbit->Stop());
  ASSERT_OK(hook->Stop());

  const Scrape scrape = Scraped();
  const auto topic = [&](const std::string& name) {
    return Labels{{"table", kTable}, {"topic", name}};
  };
  EXPECT_THAT(scrape.Find("outbox_enqueue_total", topic("a.b.placed.v1")), Optional(6));
  EXPECT_THAT(scrape.Find("outbox_enqueue_total", topic("a.b.paid.v1")), Optional(3));
  EXPECT_THAT(scrape.Find("outbox_enqueue_total", topic("lonely.b.c.v1")), Optional(1));
  EXPECT_THAT(scrape.Find("outbox_split_messages_total", table), Optional(10));
  EXPECT_THAT(scrape.Find("outbox_split_deliveries_total", table), Optional(18));
  EXPECT_THAT(scrape.Find("outbox_unrouted_total", table), Optional(1));
  const auto dispatched = [&](const std::string& name, const std::string& result) {
    Labels labels = topic(name);
    labels["result"] = result;
    return scrape.Find("outbox_dispatch_total", labels);
  };
  EXPECT_THAT(dispatched("a.b.placed.v1", "success"), Optional(12));
  EXPECT_THAT(dispatched("a.b.paid.v1", "success"), Optional(3));
  EXPECT_THAT(dispatched("a.b.paid.v1", "failure"), Optional(3));
  EXPECT_THAT(scrape.Find("outbox_dead_total", topic("a.b.paid.v1")), Optional(3));
  const auto settled = [&](const std::string& sink, const std::string& result) {
    return scrape.Find("outbox_settled_total",
                       {{"table", kTable}, {"sink", sink}, {"result", result}});
  };
  EXPECT_THAT(settled("rabbit", "delivered"), Optional(9));
  EXPECT_THAT(settled("rabbit", "dead"), Optional(0));
  EXPECT_THAT(settled("hook", "delivered"), Optional(6));
  EXPECT_THAT(settled("hook", "dead"), Optional(3));
  EXPECT_THAT(scrape.Find("outbox_claimed_total", {{"table", kTable}, {"sink", "hook"}}),
              Optional(9));
}
#endif

}  // namespace
}  // namespace outbox::service
