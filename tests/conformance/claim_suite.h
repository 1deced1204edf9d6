// Claiming: which messages a relay gets, when, and that nobody else gets them too.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "tests/conformance/store_fixture.h"

namespace outbox::conformance {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ClaimSuite : public StoreSuite {};

TEST_P(ClaimSuite, ClaimsInTheOrderOfEnqueueing) {
  EnqueueNumbered(5);
  const auto relay = OpenRelay();
  EXPECT_THAT(Payloads(Next(*relay)->messages()), ElementsAre("0", "1", "2", "3", "4"));
}

TEST_P(ClaimSuite, ClaimsNoMoreThanTheLimitAndContinuesAfterIt) {
  EnqueueNumbered(5);
  const auto relay = OpenRelay();
  EXPECT_THAT(Payloads(Next(*relay, 2)->messages()), ElementsAre("0", "1"));
  EXPECT_THAT(Payloads(Next(*relay, 2)->messages()), ElementsAre("2", "3"));
  EXPECT_THAT(Payloads(Next(*relay, 2)->messages()), ElementsAre("4"));
  EXPECT_THAT(Next(*relay, 2)->messages(), IsEmpty());
}

TEST_P(ClaimSuite, AnEmptyTableGivesAnEmptyClaim) {
  const auto relay = OpenRelay();
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Next(*relay)->messages(), IsEmpty());
  // A store that has been idle finds new work at once.
  EnqueueNumbered(1);
  EXPECT_THAT(Next(*relay)->messages(), SizeIs(1));
}

TEST_P(ClaimSuite, CarriesEveryFieldUnchanged) {
  const Uuid tenant = Uuid::NewV7();
  const NewMessage sent{.topic = "orders.order.created.v1",
                        .payload = R"({"text" :  "Grüße \u00e9", "n": 1.50})",
                        .id = Uuid::NewV7(),
                        .name_space = "shop",
                        .event_type = "OrderCreated",
                        .event_version = 7,
                        .aggregate_type = "order",
                        .aggregate_id = "42",
                        .key = "k",
                        .tenant_id = tenant,
                        .dedupe_key = tenant.ToString() + "/d",
                        .headers = {{"b", "2"}, {"a", "1"}},
                        .traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"};
  Enqueue(sent);
  const auto relay = OpenRelay();
  const auto claim = Next(*relay);
  ASSERT_THAT(claim->messages(), SizeIs(1));
  const Message& got = claim->messages()[0];
  EXPECT_EQ(got.id, *sent.id);
  EXPECT_GT(got.seq, 0);
  EXPECT_EQ(got.table, Row(*sent.id).message.table);
  EXPECT_EQ(got.name_space, sent.name_space);
  EXPECT_EQ(got.topic, sent.topic);
  EXPECT_EQ(got.payload, sent.payload);
  EXPECT_EQ(got.event_type, sent.event_type);
  EXPECT_EQ(got.event_version, sent.event_version);
  EXPECT_EQ(got.aggregate_type, sent.aggregate_type);
  EXPECT_EQ(got.aggregate_id, sent.aggregate_id);
  EXPECT_EQ(got.key, sent.key);
  EXPECT_EQ(got.tenant_id, sent.tenant_id);
  EXPECT_EQ(got.dedupe_key, sent.dedupe_key);
  EXPECT_EQ(got.Header("a"), "1");
  EXPECT_EQ(got.Header("b"), "2");
  EXPECT_EQ(got.Header(kTraceparentHeader), sent.traceparent);
  EXPECT_EQ(got.attempt, 1);
  EXPECT_GT(got.created_at.time_since_epoch(), 0s);
  EXPECT_GE(got.available_at, got.created_at - 1s);
}

TEST_P(ClaimSuite, DelayedMessagesAreNotClaimedEarly) {
  NewMessage soon = Event("\"soon\"");
  soon.delay = 500ms;
  NewMessage later = Event("\"later\"");
  later.delay = 1h;
  const Uuid id = Enqueue(soon);
  fixture().Enqueue({later, Event("0")});
  const auto relay = OpenRelay();
  std::vector<std::string> claimed;
  ASSERT_TRUE(Eventually([&] {
    for (const std::string& payload : Payloads(Next(*relay)->messages())) {
      claimed.push_back(payload);
    }
    return StatusOf(id) == MessageStatus::kProcessing;
  }));
  EXPECT_THAT(claimed, ::testing::UnorderedElementsAre("0", "\"soon\""));
  EXPECT_GE(Row(id).updated_at, Row(id).message.created_at + soon.delay);
}

TEST_P(ClaimSuite, TwoRelaysNeverHoldTheSameMessage) {
  EnqueueNumbered(4);
  const auto first = OpenRelay({.relay_id = "first"});
  const auto second = OpenRelay({.relay_id = "second"});
  const auto a = Next(*first, 2);
  const auto b = Next(*second, 10);
  EXPECT_THAT(Payloads(a->messages()), ElementsAre("0", "1"));
  EXPECT_THAT(Payloads(b->messages()), ElementsAre("2", "3"));
}

TEST_P(ClaimSuite, MarksLeasedRowsAsProcessing) {
  const Uuid id = Enqueue(Event());
  const auto relay = OpenRelay({.relay_id = "me"});
  const auto claim = Next(*relay);
  const auto row = Row(id);
  EXPECT_EQ(row.status, MessageStatus::kProcessing);
  EXPECT_EQ(row.message.attempt, 1);
  EXPECT_THAT(row.locked_by, ::testing::StartsWith("me/"));
  ASSERT_TRUE(row.locked_until.has_value());
  EXPECT_GT(*row.locked_until, row.updated_at + 50s);
}

TEST_P(ClaimSuite, AnExpiredLeaseIsClaimedAgainAndCountsAnAttempt) {
  EnqueueNumbered(1);
  const auto crashed = OpenRelay({.relay_id = "crashed"});
  const auto healthy = OpenRelay({.relay_id = "healthy"});
  { const auto dropped = Next(*crashed, 1, 500ms); }
  const auto reclaimed = NextFound(*healthy);
  ASSERT_THAT(reclaimed->messages(), SizeIs(1));
  EXPECT_EQ(reclaimed->messages()[0].attempt, 2);
}

TEST_P(ClaimSuite, AHeldLeaseIsNotClaimedAgain) {
  EnqueueNumbered(1);
  const auto relay = OpenRelay();
  const auto held = Next(*relay, 1, 60s);
  const auto other = OpenRelay({.relay_id = "other"});
  EXPECT_THAT(Next(*other)->messages(), IsEmpty());
}

TEST_P(ClaimSuite, ExtendKeepsALeaseBeyondItsFirstEnd) {
  EnqueueNumbered(2);
  const auto holder = OpenRelay({.relay_id = "holder"});
  const auto other = OpenRelay({.relay_id = "other"});
  const auto held = Next(*holder, 1);
  const auto lapsing = Next(*holder, 1);
  ASSERT_OK(held->Extend(200ms, Soon()));
  const auto lost = held->Extend(60s, Soon());
  ASSERT_OK(lost);
  EXPECT_THAT(*lost, IsEmpty());
  // The lease that ends after the first end of the other shows that this has passed.
  ASSERT_OK(lapsing->Extend(300ms, Soon()));
  EXPECT_THAT(Payloads(NextFound(*other)->messages()), ElementsAre("1"));
  EXPECT_THAT(SettleAll(*held, Kind::kDelivered), IsEmpty());
}

TEST_P(ClaimSuite, ExtendReportsWhatWasTakenOver) {
  EnqueueNumbered(1);
  const auto slow = OpenRelay({.relay_id = "slow"});
  const auto other = OpenRelay({.relay_id = "other"});
  const auto stale = Next(*slow, 1, 300ms);
  const auto taken = NextFound(*other);
  const auto lost = stale->Extend(60s, Soon());
  ASSERT_OK(lost);
  EXPECT_THAT(*lost, ElementsAre(0));
  EXPECT_THAT(SettleAll(*taken, Kind::kDelivered), IsEmpty());
}

TEST_P(ClaimSuite, UsedUpAttemptsTurnAMessageDeadExactlyOnce) {
  const Uuid id = Enqueue(Event());
  const auto relay = OpenRelay();
  for (int attempt = 1; attempt <= 2; ++attempt) {
    const auto crashed = NextFound(*relay, 2, 1ms);
    ASSERT_THAT(crashed->messages(), SizeIs(1));
    EXPECT_EQ(crashed->messages()[0].attempt, attempt);
  }
  const auto last = NextFound(*relay, 2);
  EXPECT_THAT(last->messages(), IsEmpty());
  ASSERT_THAT(last->exhausted(), SizeIs(1));
  EXPECT_EQ(last->exhausted()[0].id, id);
  EXPECT_EQ(last->exhausted()[0].attempt, 2);
  const auto row = Row(id);
  EXPECT_EQ(row.status, MessageStatus::kDead);
  EXPECT_EQ(row.message.attempt, 2);
  EXPECT_THAT(row.last_error, HasSubstr("gave up after 2 attempts"));
  EXPECT_EQ(row.locked_by, "");
  EXPECT_FALSE(row.processed_at.has_value());
  const auto after = Next(*relay, 10, 60s, 2);
  EXPECT_THAT(after->messages(), IsEmpty());
  EXPECT_THAT(after->exhausted(), IsEmpty());
}

TEST_P(ClaimSuite, ABuriedMessageKeepsItsEarlierError) {
  const Uuid id = Enqueue(Event());
  const auto relay = OpenRelay();
  Settle(*Next(*relay), {{.index = 0, .kind = Kind::kRetry, .error = "no route"}});
  ASSERT_THAT(NextFound(*relay, 1)->exhausted(), SizeIs(1));
  EXPECT_THAT(Row(id).last_error, HasSubstr("gave up after 1 attempts"));
  EXPECT_THAT(Row(id).last_error, HasSubstr("no route"));
}

TEST_P(ClaimSuite, UsedUpAttemptsDoNotHoldUpTheOthers) {
  EnqueueNumbered(2);
  const auto relay = OpenRelay();
  Settle(*Next(*relay, 1), {{.index = 0, .kind = Kind::kRetry, .error = "x"}});
  std::vector<std::string> claimed;
  std::size_t buried = 0;
  EXPECT_TRUE(Eventually([&] {
    const auto claim = Next(*relay, 10, 60s, 1);
    for (const Message& message : claim->messages()) claimed.push_back(message.payload);
    buried += claim->exhausted().size();
    return claimed.size() + buried >= 2;
  }));
  EXPECT_THAT(claimed, ElementsAre("1"));
  EXPECT_EQ(buried, 1U);
}

TEST_P(ClaimSuite, LimitsAClaimToANamespace) {
  NewMessage mine = Event("\"mine\"");
  mine.name_space = "shop";
  fixture().Enqueue({Event("\"other\""), mine});
  const auto relay = OpenRelay({.filter = {.name_space = "shop"}});
  EXPECT_THAT(Payloads(Next(*relay)->messages()), ElementsAre("\"mine\""));
  const auto unnamed = OpenRelay({.filter = {.name_space = ""}});
  EXPECT_THAT(Payloads(Next(*unnamed)->messages()), ElementsAre("\"other\""));
}

TEST_P(ClaimSuite, LimitsAClaimToTopicPatterns) {
  for (const char* topic : {"orders.order.created.v1", "orders.order.paid.v1",
                            "orders.item.created.v2", "billing.invoice.sent.v1"}) {
    Enqueue({.topic = topic, .payload = "\"" + std::string(topic) + "\""});
  }
  const auto created = OpenRelay({.filter = {.topics = {"orders.*.created.v*"}}});
  EXPECT_THAT(Payloads(Next(*created)->messages()),
              ElementsAre("\"orders.order.created.v1\"", "\"orders.item.created.v2\""));
  const auto rest = OpenRelay({.filter = {.topics = {"billing.#", "orders.order.paid.v1"}}});
  EXPECT_THAT(Payloads(Next(*rest)->messages()),
              ElementsAre("\"orders.order.paid.v1\"", "\"billing.invoice.sent.v1\""));
}

TEST_P(ClaimSuite, LimitsAClaimToATenant) {
  NewMessage mine = Event("\"mine\"");
  mine.tenant_id = Uuid::NewV7();
  NewMessage other = Event("\"other\"");
  other.tenant_id = Uuid::NewV7();
  fixture().Enqueue({Event("\"nobody\""), other, mine});
  const auto relay = OpenRelay({.filter = {.tenant_id = mine.tenant_id}});
  EXPECT_THAT(Payloads(Next(*relay)->messages()), ElementsAre("\"mine\""));
}

TEST_P(ClaimSuite, EightRelaysClaimEveryMessageExactlyOnce) {
  constexpr int kMessages = 2000;
  EnqueueNumbered(kMessages);
  std::mutex mutex;
  std::map<std::string, int> seen;
  std::atomic<int> total = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const auto relay = OpenRelay({.relay_id = "relay-" + std::to_string(i)});
      const Deadline deadline = Deadline::After(2 * kPatience);
      while (total < kMessages && !deadline.passed()) {
        const auto claim = Next(*relay, 40);
        EXPECT_THAT(SettleAll(*claim, Kind::kDelivered), IsEmpty());
        total += static_cast<int>(claim->messages().size());
        const std::lock_guard lock(mutex);
        for (const Message& message : claim->messages()) ++seen[message.payload];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(total, kMessages);
  EXPECT_THAT(seen, SizeIs(kMessages));
  for (const auto& [payload, count] : seen) EXPECT_EQ(count, 1) << payload;
}

}  // namespace outbox::conformance
