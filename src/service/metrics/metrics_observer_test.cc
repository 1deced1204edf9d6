#include "service/metrics/metrics_observer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "outbox/version.h"
#include "service/metrics/every_event.h"
#include "service/metrics/scrape.h"

namespace outbox::service {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Labels;
using testing::MessageOf;
using ::testing::Optional;
using ::testing::Pair;
using testing::Scrape;
using ::testing::UnorderedElementsAre;

constexpr const char* kOrders = "public.orders_outbox";
constexpr const char* kCreated = "orders.order.created.v1";

Scrape ScrapeOf(const MetricsObserver& metrics) { return Scrape(metrics.Exposition()); }

Labels Dispatched(const std::string& topic, const std::string& result) {
  return {{"table", kOrders}, {"topic", topic}, {"result", result}};
}

Labels Failed(const std::string& topic, const std::string& reason) {
  return {{"table", kOrders}, {"topic", topic}, {"reason", reason}};
}

TEST(MetricsObserver, HasTheNamesTypesAndLabelsThatWereAskedFor) {
  const Scrape scrape(testing::ExpositionOfEveryEvent());
  const auto labels = scrape.family_labels();
  const auto expect = [&](const std::string& name, const std::string& type,
                          const std::set<std::string>& names) {
    ASSERT_TRUE(scrape.types().contains(name)) << name;
    EXPECT_EQ(scrape.types().at(name), type) << name;
    EXPECT_EQ(labels.at(name), names) << name;
  };
  expect("outbox_enqueue_total", "counter", {"table", "topic"});
  expect("outbox_dispatch_total", "counter", {"table", "topic", "result"});
  expect("outbox_dead_total", "counter", {"table", "topic"});
  expect("outbox_dispatch_failures_total", "counter", {"table", "topic", "reason"});
  expect("outbox_dispatch_latency_seconds", "histogram", {"table", "topic", "result"});
  expect("outbox_publish_delay_seconds", "histogram", {"table"});
  for (const auto* name : {"outbox_pending", "outbox_locked", "outbox_relay_leader",
                           "outbox_oldest_age_seconds", "outbox_stale_locks"}) {
    expect(name, "gauge", {"table"});
  }
  for (const auto* word : {"tenant", "id", "event_id", "seq", "sequence", "key"}) {
    EXPECT_FALSE(scrape.label_names().contains(word)) << word;
  }
}

TEST(MetricsObserver, CountsTheSinksAnswersByWhatTheyMean) {
  MetricsObserver metrics;
  const Message message = MessageOf(kOrders, kCreated);
  metrics.OnPublished(message, Status::Ok(), 20ms);
  metrics.OnPublished(message, Status::Ok(), 20ms);
  metrics.OnPublished(message, Status::Retry(Code::kUnavailable, "later"), 1ms);
  metrics.OnPublished(message, Status::InDoubt(Code::kDeadline, "perhaps"), 1ms);
  metrics.OnPublished(message, Status::Permanent(Code::kRejected, "never"), 1ms);
  metrics.OnPublished(message, Status::SinkDown("away"), 1ms);
  const Scrape scrape = ScrapeOf(metrics);
  EXPECT_THAT(scrape.All("outbox_dispatch_total"),
              UnorderedElementsAre(Pair(Dispatched(kCreated, "success"), 2),
                                   Pair(Dispatched(kCreated, "failure"), 4)));
  EXPECT_THAT(scrape.All("outbox_dispatch_failures_total"),
              UnorderedElementsAre(Pair(Failed(kCreated, "retry"), 2),
                                   Pair(Failed(kCreated, "rejected"), 1),
                                   Pair(Failed(kCreated, "sink_down"), 1)));
  const auto count = [&](const std::string& result) {
    return scrape.Find("outbox_dispatch_latency_seconds_count", Dispatched(kCreated, result));
  };
  EXPECT_THAT(count("success"), Optional(2));
  EXPECT_THAT(count("failure"), Optional(4));
  const auto sum =
      scrape.Find("outbox_dispatch_latency_seconds_sum", Dispatched(kCreated, "success"));
  ASSERT_TRUE(sum.has_value());
  EXPECT_NEAR(*sum, 0.04, 1e-9);
  Labels bucket = Dispatched(kCreated, "success");
  bucket["le"] = "0.01";
  EXPECT_THAT(scrape.Find("outbox_dispatch_latency_seconds_bucket", bucket), Optional(0));
  bucket["le"] = "0.025";
  EXPECT_THAT(scrape.Find("outbox_dispatch_latency_seconds_bucket", bucket), Optional(2));
}

TEST(MetricsObserver, CountersOfATopicBeginAtZero) {
  MetricsObserver metrics;
  metrics.OnPublished(MessageOf(kOrders, kCreated), Status::Ok(), 1ms);
  const Scrape scrape = ScrapeOf(metrics);
  EXPECT_THAT(scrape.Find("outbox_dispatch_total", Dispatched(kCreated, "failure")), Optional(0));
  EXPECT_THAT(scrape.Find("outbox_dispatch_failures_total", Failed(kCreated, "rejected")),
              Optional(0));
  EXPECT_THAT(scrape.Find("outbox_dead_total", {{"table", kOrders}, {"topic", kCreated}}),
              Optional(0));
  EXPECT_THAT(scrape.Find("outbox_lease_lost_total", {{"table", kOrders}}), Optional(0));
}

TEST(MetricsObserver, MeasuresFromInsertToConfirmationAndOnlyThen) {
  MetricsObserver metrics;
  Message message = MessageOf(kOrders, kCreated);
  message.created_at -= 100s;
  metrics.OnPublished(message, Status::Ok(), 1ms);
  metrics.OnPublished(message, Status::Retry(Code::kUnavailable, "later"), 1ms);
  // The database's clock is ahead of ours.
  message.created_at += 200s;
  metrics.OnPublished(message, Status::Ok(), 1ms);
  const Scrape scrape = ScrapeOf(metrics);
  const Labels table{{"table", kOrders}};
  EXPECT_THAT(scrape.Find("outbox_publish_delay_seconds_count", table), Optional(2));
  const auto sum = scrape.Find("outbox_publish_delay_seconds_sum", table);
  ASSERT_TRUE(sum.has_value());
  EXPECT_GE(*sum, 100);
  EXPECT_LT(*sum, 160);
  EXPECT_THAT(
      scrape.Find("outbox_publish_delay_seconds_bucket", {{"table", kOrders}, {"le", "0.005"}}),
      Optional(1));
}

TEST(MetricsObserver, DuplicatesAreNotEnqueued) {
  MetricsObserver metrics;
  EXPECT_THAT(ScrapeOf(metrics).All("outbox_enqueue_total"), IsEmpty());
  metrics.OnEnqueued(kOrders, kCreated, false);
  metrics.OnEnqueued(kOrders, kCreated, true);
  EXPECT_THAT(ScrapeOf(metrics).All("outbox_enqueue_total"),
              ElementsAre(Pair(Labels{{"table", kOrders}, {"topic", kCreated}}, 1)));
}

TEST(MetricsObserver, TopicsBeyondTheLimitShareALabel) {
  MetricsObserver metrics({.topics_max = 4});
  for (const auto* topic : {"a", "b", "c", "d", "a", "c"}) {
    metrics.OnPublished(MessageOf(kOrders, topic), Status::Ok(), 1ms);
    metrics.OnEnqueued("public.bills_outbox", topic, false);
  }
  metrics.OnDead(MessageOf(kOrders, "e"), Status::Permanent(Code::kRejected, "no"));
  const Scrape scrape = ScrapeOf(metrics);
  EXPECT_THAT(scrape.Find("outbox_dispatch_total", Dispatched("a", "success")), Optional(2));
  EXPECT_THAT(scrape.Find("outbox_dispatch_total", Dispatched("b", "success")), Optional(1));
  EXPECT_THAT(scrape.Find("outbox_dispatch_total", Dispatched("other", "success")), Optional(3));
  EXPECT_THAT(scrape.Find("outbox_dead_total", {{"table", kOrders}, {"topic", "other"}}),
              Optional(1));
  // The limit is the process's, not each table's.
  EXPECT_THAT(
      scrape.Find("outbox_enqueue_total", {{"table", "public.bills_outbox"}, {"topic", "other"}}),
      Optional(3));
  EXPECT_EQ(scrape.All("outbox_dispatch_total").size(), 3U * 2U);
}

TEST(MetricsObserver, ATopicThatIsNotSeenForAnHourGivesItsPlaceToANewOne) {
  std::chrono::steady_clock::time_point now{};
  MetricsObserver metrics({.topics_max = 2}, [&] { return now; });
  const auto publish = [&](const std::string& topic) {
    metrics.OnPublished(MessageOf(kOrders, topic), Status::Ok(), 1ms);
  };
  const auto published = [&](const std::string& topic) {
    return ScrapeOf(metrics).Find("outbox_dispatch_total", Dispatched(topic, "success"));
  };
  publish("junk");
  publish("steady");
  metrics.OnEnqueued("public.bills_outbox", "junk", false);
  now += 30min;
  publish("steady");
  publish("new");
  EXPECT_EQ(published("new"), std::nullopt) << "no place is free yet";
  now += 31min;
  publish("new");
  EXPECT_THAT(published("new"), Optional(1));
  EXPECT_THAT(published("steady"), Optional(2));
  EXPECT_THAT(published("other"), Optional(1));
  EXPECT_THAT(metrics.Exposition(), Not(HasSubstr("junk"))) << "in no table and no family";
  publish("junk");
  EXPECT_THAT(published("other"), Optional(2));
}

TEST(MetricsObserver, AHundredThousandTopicsDoNotGrowTheScrape) {
  MetricsObserver metrics;
  Message message = MessageOf(kOrders, "");
  for (int i = 0; i < 100'000; ++i) {
    message.topic = "topic-" + std::to_string(i);
    metrics.OnPublished(message, Status::Ok(), 1ms);
  }
  const Scrape scrape = ScrapeOf(metrics);
  EXPECT_EQ(scrape.All("outbox_dead_total").size(), 201U);
  EXPECT_THAT(scrape.Find("outbox_dispatch_total", Dispatched("other", "success")),
              Optional(99'800));
}

// Whoever may write to many tables could otherwise have each topic counted in each of them.
TEST(MetricsObserver, ManyTopicsInManyTablesDoNotMultiplyTheScrape) {
  constexpr std::size_t kTables = 100;
  MetricsObserver metrics;
  for (int topic = 0; topic < 300; ++topic) {
    for (std::size_t table = 0; table < kTables; ++table) {
      const Message message =
          MessageOf("public.outbox_" + std::to_string(table), "topic-" + std::to_string(topic));
      metrics.OnPublished(message, Status::Ok(), 1ms);
    }
  }
  const Scrape scrape = ScrapeOf(metrics);
  EXPECT_EQ(scrape.All("outbox_dead_total").size(), 200 + kTables);
  double total = 0;
  for (const auto& [labels, count] : scrape.All("outbox_dispatch_total")) total += count;
  EXPECT_EQ(total, 300 * kTables);
  const std::string text = metrics.Exposition();
  const auto lines = std::count(text.begin(), text.end(), '\n');
  std::printf("lines=%td bytes=%zu\n", lines, text.size());
  EXPECT_LT(lines, 100 * static_cast<std::ptrdiff_t>(200 + kTables));
}

TEST(MetricsObserver, TopicsThatAreNotTextDoNotSpoilTheScrape) {
  MetricsObserver metrics;
  for (const std::string topic : {"caf\xc3\xa9", "bad\xff", "quote\"back\\slash", "two\nlines"}) {
    metrics.OnPublished(MessageOf(kOrders, topic), Status::Ok(), 1ms);
  }
  const std::string exposition = metrics.Exposition();
  EXPECT_THAT(exposition, HasSubstr("topic=\"caf\xc3\xa9\""));
  EXPECT_EQ(exposition.find('\xff'), std::string::npos);
  EXPECT_THAT(
      Scrape(exposition).Find("outbox_dispatch_total", Dispatched("quote\"back\\slash", "success")),
      Optional(1));
}

TEST(MetricsObserver, CountsClaimsSettlesSplitsErrorsAndPurges) {
  MetricsObserver metrics;
  const std::string relay = std::string(kOrders) + "/rabbit";
  metrics.OnClaimed(relay, 0, 1ms);
  metrics.OnClaimed(relay, 7, 1ms);
  metrics.OnClaimed(relay, 5, 1ms);
  metrics.OnSettled(relay, {.delivered = 6, .retried = 3, .dead = 1, .released = 2, .lost = 4},
                    2ms);
  metrics.OnSettled(relay, {.delivered = 1}, 2ms);
  metrics.OnSplit(kOrders, 10, 17, 2, 1ms);
  metrics.OnStoreError(relay, "claim", Status::Retry(Code::kUnavailable, "x"), 1s);
  metrics.OnStoreError(kOrders, "claim", Status::Retry(Code::kUnavailable, "x"), 1s);
  metrics.OnStoreError(kOrders, "split", Status::Retry(Code::kUnavailable, "x"), 1s);
  metrics.OnPurged(kOrders, {.delivered = 100, .dead = 5, .audit = 2}, 1ms);
  metrics.OnLeaseLost(MessageOf(kOrders, kCreated));

  const Scrape scrape = ScrapeOf(metrics);
  const Labels sink{{"table", kOrders}, {"sink", "rabbit"}};
  const auto with = [](Labels labels, const std::string& name, const std::string& value) {
    labels[name] = value;
    return labels;
  };
  EXPECT_THAT(scrape.Find("outbox_claims_total", with(sink, "result", "empty")), Optional(1));
  EXPECT_THAT(scrape.Find("outbox_claims_total", with(sink, "result", "messages")), Optional(2));
  EXPECT_THAT(scrape.Find("outbox_claimed_total", sink), Optional(12));
  EXPECT_THAT(scrape.Find("outbox_claim_duration_seconds_count", sink), Optional(3));
  const std::map<std::string, double> outcomes{
      {"delivered", 7}, {"retry", 3}, {"dead", 1}, {"released", 2}, {"lost", 4}};
  for (const auto& [outcome, count] : outcomes) {
    EXPECT_THAT(scrape.Find("outbox_settled_total", with(sink, "result", outcome)), Optional(count))
        << outcome;
  }
  EXPECT_THAT(scrape.Find("outbox_settle_duration_seconds_count", sink), Optional(2));
  const Labels table{{"table", kOrders}};
  EXPECT_THAT(scrape.Find("outbox_split_messages_total", table), Optional(10));
  EXPECT_THAT(scrape.Find("outbox_split_deliveries_total", table), Optional(17));
  EXPECT_THAT(scrape.Find("outbox_unrouted_total", table), Optional(2));
  EXPECT_THAT(scrape.Find("outbox_split_duration_seconds_count", table), Optional(1));
  EXPECT_THAT(scrape.Find("outbox_store_errors_total", with(table, "operation", "claim")),
              Optional(2));
  EXPECT_THAT(scrape.Find("outbox_store_errors_total", with(table, "operation", "split")),
              Optional(1));
  EXPECT_THAT(scrape.Find("outbox_purged_total", with(table, "status", "delivered")),
              Optional(100));
  EXPECT_THAT(scrape.Find("outbox_purged_total", with(table, "status", "dead")), Optional(5));
  EXPECT_THAT(scrape.Find("outbox_purged_total", with(table, "status", "audit")), Optional(2));
  EXPECT_THAT(scrape.Find("outbox_lease_lost_total", table), Optional(1));
}

TEST(MetricsObserver, ErrorTextsAndPayloadsStayOut) {
  MetricsObserver metrics;
  Message message = MessageOf(kOrders, kCreated);
  message.payload = R"({"card":"4111"})";
  message.id = Uuid::NewV7();
  message.key = "customer-7";
  const Status failure = Status::Permanent(Code::kRejected, "password=hunter2 refused");
  metrics.OnPublished(message, failure, 1ms);
  metrics.OnDead(message, failure);
  metrics.OnStateChanged(kOrders, RelayState::kWaitingForSink, "password=hunter2 refused");
  metrics.OnStoreError(kOrders, "claim", failure, 1s);
  const std::string exposition = metrics.Exposition();
  for (const std::string secret : {"hunter2", "4111", "customer-7"}) {
    EXPECT_EQ(exposition.find(secret), std::string::npos) << secret;
  }
  EXPECT_EQ(exposition.find(message.id.ToString()), std::string::npos);
}

TEST(MetricsObserver, TellsItsVersion) {
  const MetricsObserver metrics;
  EXPECT_THAT(ScrapeOf(metrics).Find("outbox_build_info", {{"version", std::string(Version())}}),
              Optional(1));
}

TEST(MetricsObserver, CountsWhatManyThreadsTellAtOnce) {
  constexpr int kThreads = 4;
  constexpr int kEach = 5'000;
  MetricsObserver metrics({.topics_max = 3});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&metrics] {
      const std::vector<std::string> topics{"a", "b", "c", "d", "e"};
      Message message = MessageOf(kOrders, "");
      for (int i = 0; i < kEach; ++i) {
        message.topic = topics[static_cast<std::size_t>(i) % topics.size()];
        metrics.OnPublished(message, Status::Ok(), 1ms);
        metrics.OnEnqueued(kOrders, message.topic, false);
        if (i % 100 == 0) {
          metrics.OnClaimed(kOrders, 100, 1ms);
          metrics.OnStateChanged(kOrders, RelayState::kRunning, "");
          metrics.OnStats(kOrders, {.pending = i});
        }
      }
    });
  }
  for (int i = 0; i < 20; ++i) EXPECT_THAT(metrics.Exposition(), HasSubstr("outbox_build_info"));
  for (std::thread& thread : threads) thread.join();
  double total = 0;
  for (const auto& [labels, count] : ScrapeOf(metrics).All("outbox_dispatch_total")) total += count;
  EXPECT_EQ(total, kThreads * kEach);
  total = 0;
  for (const auto& [labels, count] : ScrapeOf(metrics).All("outbox_enqueue_total")) total += count;
  EXPECT_EQ(total, kThreads * kEach);
}

}  // namespace
}  // namespace outbox::service
