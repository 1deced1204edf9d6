#include <gtest/gtest.h>

#include <set>

#include "store/postgres/postgres_fixture.h"

namespace outbox::store::postgres {
namespace {

using Kind = Outcome::Kind;
using LeaseClaimTest = PostgresTest;

TEST_F(LeaseClaimTest, ReturnsWhatWasEnqueuedOldestFirst) {
  sql_->Run(
      "SELECT outbox.enqueue('orders_outbox', 'orders.order.created.v1', '{\"n\": 1}', key => 'k',"
      " tenant_id => '0190b5c0-0000-7000-8000-000000000001',"
      " dedupe_key => '0190b5c0-0000-7000-8000-000000000001/a', headers => '{\"h\": \"v\"}',"
      " id => '0190b5c0-0000-7000-8000-00000000000a', namespace => 'shop', event_type => 'created',"
      " event_version => 3, aggregate_type => 'order', aggregate_id => '42')");
  Insert(1);
  const auto store = OpenRelay();
  const auto claim = Next(*store, Batch(10));
  ASSERT_EQ(claim->messages().size(), 2U);
  const Message& first = claim->messages()[0];
  EXPECT_EQ(first.id.ToString(), "0190b5c0-0000-7000-8000-00000000000a");
  EXPECT_EQ(first.seq, 1);
  EXPECT_EQ(first.table, kTable);
  EXPECT_EQ(first.name_space, "shop");
  EXPECT_EQ(first.topic, "orders.order.created.v1");
  EXPECT_EQ(first.event_type, "created");
  EXPECT_EQ(first.event_version, 3);
  EXPECT_EQ(first.aggregate_type, "order");
  EXPECT_EQ(first.aggregate_id, "42");
  EXPECT_EQ(first.key, "k");
  ASSERT_TRUE(first.tenant_id.has_value());
  EXPECT_EQ(first.tenant_id->ToString(), "0190b5c0-0000-7000-8000-000000000001");
  EXPECT_EQ(first.dedupe_key, "0190b5c0-0000-7000-8000-000000000001/a");
  EXPECT_EQ(first.payload, "{\"n\": 1}");
  EXPECT_EQ(first.Header("h"), "v");
  EXPECT_EQ(first.attempt, 1);
  const auto age = std::chrono::system_clock::now() - first.created_at;
  EXPECT_LT(age, std::chrono::minutes(1));
  EXPECT_GT(age, std::chrono::minutes(-1));
  EXPECT_LT(first.available_at, claim->messages()[1].available_at);
}

TEST_F(LeaseClaimTest, SkipsRowsLeasedByAnotherRelay) {
  Insert(10);
  const auto one = OpenRelay({.relay_id = "one"});
  const auto two = OpenRelay({.relay_id = "two"});
  const auto first = Next(*one, Batch(6));
  const auto second = Next(*two, Batch(6));
  EXPECT_EQ(first->messages().size(), 6U);
  EXPECT_EQ(second->messages().size(), 4U);
  std::set<std::int64_t> seqs;
  for (const auto* claim : {first.get(), second.get()}) {
    for (const Message& message : claim->messages()) seqs.insert(message.seq);
  }
  EXPECT_EQ(seqs.size(), 10U);
}

TEST_F(LeaseClaimTest, LeavesDelayedMessagesAlone) {
  sql_->Run(
      "SELECT outbox.enqueue('orders_outbox', 'orders.order.created.v1', '{}',"
      " available_at => now() + interval '1 hour')");
  const auto store = OpenRelay();
  EXPECT_TRUE(Next(*store, Batch(10))->messages().empty());
}

TEST_F(LeaseClaimTest, LeavesLeasesAloneThatRanOutInAnOutage) {
  for (const auto history : {AttemptHistory::kOff, AttemptHistory::kFailures}) {
    sql_->Run("TRUNCATE orders_outbox CASCADE");
    Insert(2);
    const auto one = OpenRelay({.relay_id = "one", .attempt_history = history});
    const auto two = OpenRelay({.relay_id = "two", .attempt_history = history});
    const auto held = Next(*one, Batch(1));
    sql_->Run(
        "UPDATE orders_outbox SET locked_until = now() - interval '1 s'"
        " WHERE locked_until IS NOT NULL");
    ClaimRequest sparing = Batch(10);
    sparing.spare_expired = true;
    EXPECT_EQ(Next(*two, sparing)->size(), 1U) << "what nobody holds is claimed at once";
    const auto lost = held->Extend(std::chrono::seconds(60), Soon());
    ASSERT_OK(lost);
    EXPECT_TRUE(lost->empty()) << "the holder has it again";
    EXPECT_EQ(Next(*two, Batch(10))->size(), 0U);
  }
}

TEST_F(LeaseClaimTest, LeavesLeasesOfDeliveriesAloneThatRanOutInAnOutage) {
  Insert(2);
  sql_->Run(
      "INSERT INTO orders_outbox_delivery (id, destination, seq, available_at) SELECT id,"
      " 'hook', seq, now() FROM orders_outbox");
  const auto one = OpenRelay({.relay_id = "one", .destination = "hook"});
  const auto two = OpenRelay({.relay_id = "two", .destination = "hook"});
  const auto held = Next(*one, Batch(1));
  sql_->Run(
      "UPDATE orders_outbox_delivery SET locked_until = now() - interval '1 s'"
      " WHERE locked_until IS NOT NULL");
  ClaimRequest sparing = Batch(10);
  sparing.spare_expired = true;
  EXPECT_EQ(Next(*two, sparing)->size(), 1U);
  ClaimRequest taking = Batch(10);
  taking.from_start = true;
  EXPECT_EQ(Next(*two, taking)->size(), 1U);
}

TEST_F(LeaseClaimTest, MarksDeliveredInPlace) {
  Insert(3);
  const auto store = OpenRelay();
  const auto claim = Next(*store, Batch(10));
  const auto report = claim->Settle(All(*claim, Kind::kDelivered), Soon());
  ASSERT_OK(report);
  EXPECT_TRUE(report->lost.empty());
  EXPECT_EQ(Value("SELECT count(*) FROM orders_outbox WHERE status = 'delivered' AND"
                  " processed_at IS NOT NULL AND locked_by IS NULL AND locked_until IS NULL"
                  " AND attempts = 1"),
            "3");
}

TEST_F(LeaseClaimTest, DeletesDeliveredWhenNothingIsKept) {
  Insert(3);
  const auto store = OpenRelay({.keep_delivered = false});
  const auto claim = Next(*store, Batch(10));
  ASSERT_OK(claim->Settle(All(*claim, Kind::kDelivered), Soon()));
  EXPECT_EQ(Value("SELECT count(*) FROM orders_outbox"), "0");
}

class MixedSettleTest : public PostgresTest,
                        public ::testing::WithParamInterface<RelayStoreOptions> {};

TEST_P(MixedSettleTest, RecordsEachOutcomeOfOneBatch) {
  Insert(4);
  const auto store = OpenRelay(GetParam());
  const auto claim = Next(*store, Batch(10));
  const std::vector<Outcome> outcomes{
      {.index = 3, .kind = Kind::kReleased},
      {.index = 0, .kind = Kind::kDelivered},
      {.index = 2, .kind = Kind::kDead, .error = "no such exchange"},
      {.index = 1, .kind = Kind::kRetry, .retry_in = std::chrono::hours(1), .error = "timed out"},
  };
  const auto report = claim->Settle(outcomes, Soon());
  ASSERT_OK(report);
  EXPECT_TRUE(report->lost.empty());
  const std::string delivered = GetParam().keep_delivered ? "1|delivered|1||t|f\n" : "";
  EXPECT_EQ(
      sql_->Table("SELECT seq, status, attempts, coalesce(last_error, ''),"
                  " processed_at IS NOT NULL, available_at > now() + interval '59 minutes'"
                  " FROM orders_outbox ORDER BY seq"),
      delivered + "2|pending|1|timed out|f|t\n3|dead|1|no such exchange|f|t\n4|pending|0||f|f\n");
  EXPECT_EQ(Value("SELECT count(*) FROM orders_outbox WHERE locked_by IS NOT NULL"), "0");
  EXPECT_EQ(Value("SELECT available_at = 'infinity' FROM orders_outbox WHERE seq = 3"), "t");
}

INSTANTIATE_TEST_SUITE_P(
    Retention, MixedSettleTest,
    ::testing::Values(RelayStoreOptions{.keep_delivered = true},
                      RelayStoreOptions{.keep_delivered = false},
                      RelayStoreOptions{.keep_delivered = true, .async_ack = true},
                      RelayStoreOptions{.keep_delivered = false, .async_ack = true}),
    [](const auto& parameter) {
      return std::string(parameter.param.keep_delivered ? "Keep" : "Delete") +
             (parameter.param.async_ack ? "Async" : "");
    });

TEST_F(LeaseClaimTest, SettlesInParts) {
  Insert(4);
  const auto store = OpenRelay();
  const auto claim = Next(*store, Batch(10));
  ASSERT_OK(claim->Settle(std::vector<Outcome>{{.index = 2, .kind = Kind::kDelivered}}, Soon()));
  EXPECT_EQ(
      Value("SELECT string_agg(seq::text, ',') FROM orders_outbox WHERE status = 'delivered'"),
      "3");
  const std::vector<Outcome> rest{{.index = 0, .kind = Kind::kDelivered},
                                  {.index = 1, .kind = Kind::kDelivered},
                                  {.index = 3, .kind = Kind::kDelivered}};
  const auto report = claim->Settle(rest, Soon());
  ASSERT_OK(report);
  EXPECT_TRUE(report->lost.empty());
  EXPECT_EQ(Value("SELECT count(*) FROM orders_outbox WHERE status = 'delivered'"), "4");
}

TEST_F(LeaseClaimTest, ReclaimsAnExpiredLeaseAndRefusesTheOldOwner) {
  Insert(2);
  const auto old_relay = OpenRelay({.relay_id = "old"});
  const auto new_relay = OpenRelay({.relay_id = "new"});
  const auto stale = Next(*old_relay, {.limit = 10, .lease = std::chrono::milliseconds(1)});
  ASSERT_EQ(stale->messages().size(), 2U);
  std::unique_ptr<Claim> fresh;
  ASSERT_TRUE(Eventually([&] {
    fresh = Next(*new_relay, Batch(10));
    return !fresh->messages().empty();
  }));
  EXPECT_EQ(fresh->messages().size(), 2U);
  EXPECT_EQ(fresh->messages()[0].attempt, 2);

  const auto refused = stale->Settle(All(*stale, Kind::kDelivered), Soon());
  ASSERT_OK(refused);
  EXPECT_EQ(refused->lost, (std::vector<std::uint32_t>{0, 1}));
  const auto not_extended = stale->Extend(std::chrono::hours(1), Soon());
  ASSERT_OK(not_extended);
  EXPECT_EQ(Value("SELECT count(*) FROM orders_outbox WHERE locked_by LIKE 'new/%'"), "2");

  const auto settled = fresh->Settle(All(*fresh, Kind::kDelivered), Soon());
  ASSERT_OK(settled);
  EXPECT_TRUE(settled->lost.empty());
}

TEST_F(LeaseClaimTest, SettlingTwiceReportsTheSecondTimeAsLost) {
  Insert(1);
  const auto store = OpenRelay();
  const auto claim = Next(*store, Batch(1));
  ASSERT_OK(claim->Settle(All(*claim, Kind::kDelivered), Soon()));
  const auto again = claim->Settle(All(*claim, Kind::kDelivered), Soon());
  ASSERT_OK(again);
  EXPECT_EQ(again->lost, (std::vector<std::uint32_t>{0}));
}

TEST_F(LeaseClaimTest, ExtendKeepsTheLeaseAndTheRowsCanStillBeSettled) {
  Insert(3);
  const auto store = OpenRelay();
  const auto claim = Next(*store, {.limit = 10, .lease = std::chrono::seconds(5)});
  for (int i = 0; i < 3; ++i) {
    const auto lost = claim->Extend(std::chrono::hours(1), Soon());
    ASSERT_OK(lost);
    EXPECT_TRUE(lost->empty());
  }
  EXPECT_EQ(
      Value("SELECT count(*) FROM orders_outbox WHERE locked_until > now() + interval '59 min'"),
      "3");
  const auto report = claim->Settle(All(*claim, Kind::kDelivered), Soon());
  ASSERT_OK(report);
  EXPECT_TRUE(report->lost.empty());
}

TEST_F(LeaseClaimTest, FindsRowsThatMovedSinceTheClaim) {
  Insert(4);
  const auto store = OpenRelay();
  const auto claim = Next(*store, Batch(10));
  sql_->Run("UPDATE orders_outbox SET headers = '{\"by\": \"somebody\"}' WHERE seq IN (1, 3)");
  const auto lost = claim->Extend(std::chrono::hours(1), Soon());
  ASSERT_OK(lost);
  EXPECT_TRUE(lost->empty());
  sql_->Run("VACUUM FULL orders_outbox");
  sql_->Run("DELETE FROM orders_outbox WHERE seq = 4");
  const auto report = claim->Settle(All(*claim, Kind::kDelivered), Soon());
  ASSERT_OK(report);
  EXPECT_EQ(report->lost, (std::vector<std::uint32_t>{3}));
  EXPECT_EQ(Value("SELECT count(*) FROM orders_outbox WHERE status = 'delivered'"), "3");
}

TEST_F(LeaseClaimTest, TurnsMessagesDeadWhoseAttemptsAreUsedUp) {
  Insert(3);
  sql_->Run(
      "UPDATE orders_outbox SET attempts = 5, status = 'processing', locked_by = 'gone',"
      " locked_until = now() - interval '1 s', last_error = 'timed out' WHERE seq = 2");
  const auto store = OpenRelay();
  ClaimRequest request = Batch(10);
  request.attempts_max = 5;
  const auto claim = Next(*store, request);
  EXPECT_EQ(claim->messages().size(), 2U);
  ASSERT_EQ(claim->exhausted().size(), 1U);
  EXPECT_EQ(claim->exhausted()[0].seq, 2);
  EXPECT_EQ(claim->exhausted()[0].attempt, 5);
  EXPECT_EQ(
      sql_->Table("SELECT status, attempts, available_at, locked_by IS NULL, last_error"
                  " FROM orders_outbox WHERE seq = 2"),
      "dead|5|infinity|t|gave up after 5 attempts: the last one ended without an outcome (its "
      "relay crashed or lost its lease); before that: timed out\n");
  EXPECT_TRUE(Next(*store, request)->exhausted().empty());
}

TEST_F(LeaseClaimTest, HonoursItsFilters) {
  sql_->Run(
      "SELECT outbox.enqueue('orders_outbox', t, '{}', namespace => n, tenant_id => i) FROM (VALUES"
      " ('orders.order.created.v1', 'a', NULL::uuid),"
      " ('orders.order.paid.v2', 'a', NULL),"
      " ('billing.invoice.sent.v1', 'b', '0190b5c0-0000-7000-8000-000000000001')) AS v (t, n, i)");
  const auto seqs = [&](const RelayFilter& filter) {
    const auto store = OpenRelay({.filter = filter});
    const auto claim = Next(*store, Batch(10));
    std::string text;
    for (const Message& message : claim->messages()) text += std::to_string(message.seq);
    EXPECT_OK(claim->Settle(All(*claim, Kind::kReleased), Soon()));
    return text;
  };
  EXPECT_EQ(seqs({}), "123");
  EXPECT_EQ(seqs({.name_space = "a"}), "12");
  EXPECT_EQ(seqs({.topics = {"billing.#", "orders.*.paid.v*"}}), "23");
  EXPECT_EQ(seqs({.tenant_id = Uuid::Parse("0190b5c0-0000-7000-8000-000000000001")}), "3");
  EXPECT_EQ(seqs({.name_space = "nobody"}), "");
}

TEST_F(LeaseClaimTest, FindsRowsCommittedLateByALongTransaction) {
  const auto store = OpenRelay();
  PlainConnection slow(url_);
  slow.Run("BEGIN");
  slow.Run("SELECT outbox.enqueue('orders_outbox', 'orders.order.late.v1', '{}')");
  Insert(100);
  // A full batch moves the floor past the row that is not committed yet.
  EXPECT_EQ(Next(*store, Batch(100))->messages().size(), 100U);
  slow.Run("COMMIT");
  EXPECT_TRUE(Eventually([&] { return !Next(*store, Batch(100))->messages().empty(); }));
}

TEST_F(LeaseClaimTest, ReconnectsAfterItsConnectionsWereTerminated) {
  Insert(4);
  const auto store = OpenRelay();
  const auto claim = Next(*store, Batch(2));
  sql_->Run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
      " WHERE datname = current_database() AND pid <> pg_backend_pid()");
  std::unique_ptr<Claim> second;
  ASSERT_TRUE(Eventually([&] {
    auto next = store->Next(Batch(2), Soon());
    if (next.ok()) second = std::move(next).value();
    return second != nullptr && !second->messages().empty();
  }));
  ASSERT_TRUE(Eventually([&] {
    const auto report = claim->Settle(All(*claim, Kind::kDelivered), Soon());
    return report.ok();
  }));
  EXPECT_EQ(Value("SELECT count(*) FROM orders_outbox WHERE status = 'delivered'"), "2");
}

TEST_F(LeaseClaimTest, GivesUpAtItsDeadlineAndCancelsTheStatement) {
  Insert(2);
  const auto store = OpenRelay();
  const auto claim = Next(*store, Batch(2));
  PlainConnection blocker(url_);
  blocker.Run("BEGIN");
  blocker.Run("LOCK TABLE orders_outbox IN ACCESS EXCLUSIVE MODE");
  const auto report =
      claim->Settle(All(*claim, Kind::kDelivered), Deadline::After(std::chrono::seconds(3)));
  EXPECT_THAT(report, HasCode(Code::kDeadline));
  EXPECT_EQ(report.error().disposition(), Disposition::kInDoubt);
  EXPECT_TRUE(Eventually([&] {
    return blocker.Run(
               "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
               " AND datname = current_database()") == "0";
  }));
  blocker.Run("COMMIT");
  const auto again = claim->Settle(All(*claim, Kind::kDelivered), Soon());
  ASSERT_OK(again);
  EXPECT_TRUE(again->lost.empty());
}

TEST_F(LeaseClaimTest, DrainedMeansNothingDueLeasedOrWaitingForARetry) {
  const auto store = OpenRelay();
  const auto drained = [&] { return store->Drained(Soon()).value(); };
  EXPECT_TRUE(drained());
  sql_->Run(
      "SELECT outbox.enqueue('orders_outbox', 'orders.order.created.v1', '{}',"
      " available_at => now() + interval '1 hour')");
  EXPECT_TRUE(drained()) << "delayed by its producer";
  Insert(1);
  EXPECT_FALSE(drained()) << "due";
  const auto claim = Next(*store, Batch(10));
  EXPECT_FALSE(drained()) << "leased";
  ASSERT_OK(claim->Settle(
      std::vector<Outcome>{
          {.index = 0, .kind = Kind::kRetry, .retry_in = std::chrono::hours(1), .error = "later"}},
      Soon()));
  EXPECT_FALSE(drained()) << "waiting for a retry";
  sql_->Run(
      "UPDATE orders_outbox SET status = 'dead', available_at = 'infinity' WHERE attempts > 0");
  EXPECT_TRUE(drained()) << "dead";
}

}  // namespace
}  // namespace outbox::store::postgres
