// What splitting does with transactions of others: producers that commit late, processes that stand
// still, sessions that live in another time zone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "message/table_name.h"
#include "sql/postgres.h"
#include "store/postgres/fnv.h"
#include "store/postgres/postgres_fixture.h"
#include "store/postgres/statement.h"
#include "store/scan_floor.h"

namespace outbox::store::postgres {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = Outcome::Kind;

class SplitStoreTest : public PostgresTest {
 protected:
  static message::Routes ToHook(bool ordered = false) {
    std::vector<message::Route> routes{
        {.topics = "#", .destinations = {"hook"}, .ordered = ordered}};
    return message::Routes(std::move(routes));
  }

  std::unique_ptr<SplitStore> OpenSplit(SplitOptions options = {}, Backend* backend = nullptr) {
    options.table = kTable;
    auto store = (backend != nullptr ? backend : backend_.get())->OpenSplit(options, Soon());
    EXPECT_OK(store);
    return std::move(store).value();
  }

  static SplitReport Split(SplitStore& store, const message::Routes& routes,
                           std::size_t limit = 100) {
    auto report = store.Split(routes, {.limit = limit}, Soon());
    EXPECT_OK(report);
    return report.ok() ? *std::move(report) : SplitReport{};
  }

  static std::string InsertKeyed(const std::string& key, int n) {
    return base::StrCat(
        "INSERT INTO orders_outbox (id, topic, key, payload) VALUES (outbox.uuid_v7(), "
        "'orders.order.created.v1', '",
        key, "', '", n, "')");
  }

  std::vector<std::string> Deliver(RelayStore& relay, std::size_t limit = 100) {
    const auto claim = Next(relay, Batch(limit));
    std::vector<std::string> payloads;
    for (const Message& message : claim->messages()) payloads.push_back(message.payload);
    EXPECT_OK(claim->Settle(All(*claim, Kind::kDelivered), Soon()));
    return payloads;
  }
};

TEST_F(SplitStoreTest, AMessageThatWasCommittedLateIsNotOvertakenByItsKeysNext) {
  PlainConnection late(url_);
  late.Run("BEGIN");
  late.Run(InsertKeyed("k", 1));
  for (int n = 0; n < 10; ++n) sql_->Run(InsertKeyed("other", 100 + n));

  const auto splitter = OpenSplit();
  EXPECT_EQ(Split(*splitter, ToHook(true), 5).messages, 5U) << "a full batch, past the open one";
  late.Run("COMMIT");
  sql_->Run(InsertKeyed("k", 2));
  Split(*splitter, ToHook(true), 5);
  Split(*splitter, ToHook(true), 5);
  EXPECT_EQ(Value("SELECT count(*) FROM orders_outbox_delivery"), "12");
  EXPECT_EQ(Value("SELECT string_agg(m.payload::text, ' ' ORDER BY d.created_at, d.seq) "
                  "FROM orders_outbox_delivery AS d JOIN orders_outbox AS m USING (id) "
                  "WHERE d.order_key = 'k'"),
            "1 2");
}

TEST_F(SplitStoreTest, AnIdleSplitterFindsWhatIsCommittedLate) {
  for (const bool ordered : {false, true}) {
    PlainConnection late(url_);
    late.Run("BEGIN");
    late.Run(InsertKeyed("k", 1));
    late.Run("UPDATE orders_outbox SET available_at = now() - interval '1 hour' WHERE key = 'k'");
    const auto splitter = OpenSplit();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(Split(*splitter, ToHook(ordered)).messages, 0U);
    late.Run("COMMIT");
    EXPECT_TRUE(Eventually([&] { return Split(*splitter, ToHook(ordered)).messages == 1; }));
    sql_->Run("DELETE FROM orders_outbox; DELETE FROM orders_outbox_delivery");
  }
}

// A long transaction keeps the index entries of what was split; an idle splitter passes over them
// now and then, not each time it looks.
TEST_F(SplitStoreTest, AnIdleSplitterDoesNotPassOverOldIndexEntriesEachTime) {
  constexpr int kEntries = 20'000;
  constexpr int kLooks = 50;
  sql_->Run(base::StrCat(
      "INSERT INTO orders_outbox (id, topic, payload, available_at) SELECT outbox.uuid_v7(),"
      " 'orders.order.created.v1', '{}', now() - interval '1 hour' FROM generate_series(1, ",
      kEntries, ")"));
  PlainConnection old(url_);
  old.Run("BEGIN ISOLATION LEVEL REPEATABLE READ");
  old.Run("SELECT count(*) FROM orders_outbox");
  sql_->Run("DELETE FROM orders_outbox");
  auto splitter = OpenSplit();
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < kLooks; ++i) EXPECT_EQ(Split(*splitter, ToHook()).messages, 0U);
  // Once a second; more often than that only at first.
  const auto took = std::chrono::steady_clock::now() - begun;
  const auto passes_max = std::max<std::int64_t>(kLooks / 2, took / ScanFloor::kFromStartEvery + 5);
  // Its session leaves its counts behind.
  splitter.reset();
  const std::string of_claim =
      " FROM pg_stat_user_indexes WHERE indexrelname = 'orders_outbox_claim'";
  ASSERT_TRUE(
      Eventually([&] { return std::stoll(Value("SELECT idx_scan" + of_claim)) >= kLooks; }));
  EXPECT_LT(std::stoll(Value("SELECT idx_tup_read" + of_claim)), passes_max * kEntries);
}

TEST_F(SplitStoreTest, AProcessThatStandsStillWhileItSplitsStopsNobodyForLong) {
  Insert(3);
  // What a splitter has done when it is stopped between its two round trips.
  PlainConnection stopped(url_);
  const auto table = message::TableName::Parse(kTable, "public").value();
  stopped.Run("PREPARE s AS " + Statement(table, sql::postgres::kSplitCandidates).text);
  stopped.Run(
      "INSERT INTO outbox.leader (name, token, ends_at) VALUES"
      " ('split public.orders_outbox', '', '-infinity') ON CONFLICT DO NOTHING");
  stopped.Run("BEGIN");
  EXPECT_NE(stopped.Run("EXECUTE s ('-infinity', 0, 100, NULL, NULL, NULL,"
                        " 'split public.orders_outbox', false)"),
            "");
  const auto splitter = OpenSplit();
  EXPECT_EQ(Split(*splitter, ToHook()).messages, 0U) << "one process at a time";
  EXPECT_EQ(stopped.Run("SHOW idle_in_transaction_session_timeout"), "10s");
  stopped.Run("SET LOCAL idle_in_transaction_session_timeout TO '100ms'");
  EXPECT_TRUE(Eventually([&] { return Split(*splitter, ToHook()).messages == 3; }));
}

TEST_F(SplitStoreTest, AProducerCanNotStopIt) {
  Insert(3);
  const auto splitter = OpenSplit();
  PlainConnection producer(url_);
  producer.Run("SET ROLE outbox_producer");
  // The key that splitters agreed on before they had a row.
  producer.Run(base::StrCat("SELECT pg_advisory_lock(",
                            std::bit_cast<std::int64_t>(Fnv1a("outbox-split public.orders_outbox")),
                            ")"));
  EXPECT_EQ(producer.Run("SELECT has_table_privilege('outbox.leader', 'UPDATE')"), "f");
  EXPECT_EQ(Split(*splitter, ToHook()).messages, 3U);
}

TEST_F(SplitStoreTest, LeasesThatRanOutAreLeftAloneWhenAskedTo) {
  Insert(2);
  sql_->Run(
      "UPDATE orders_outbox SET status = 'processing', attempts = 1, locked_by = 'r/1',"
      " locked_until = now() - interval '1 s' WHERE seq = (SELECT min(seq) FROM orders_outbox)");
  const auto splitter = OpenSplit();
  const auto spared = splitter->Split(ToHook(), {.limit = 100, .spare_expired = true}, Soon());
  ASSERT_OK(spared);
  EXPECT_EQ(spared->messages, 1U);
  EXPECT_EQ(Split(*splitter, ToHook()).messages, 1U);
}

TEST_F(SplitStoreTest, TheSessionsTimeZoneDoesNotMatter) {
  sql_->Run(base::StrCat("ALTER DATABASE ", database_, " SET timezone TO 'Asia/Tokyo'"));
  const auto tokyo = Open(url_);
  const auto there = OpenSplit({}, tokyo.get());
  Insert(1);
  EXPECT_EQ(Split(*there, ToHook()).deliveries, 1U);
  EXPECT_EQ(Value("SELECT (available_at AT TIME ZONE 'UTC')::text FROM orders_outbox"),
            "9999-12-31 00:00:00");

  sql_->Run(base::StrCat("ALTER DATABASE ", database_, " SET timezone TO 'America/Los_Angeles'"));
  const auto angeles = Open(url_);
  const auto here = OpenSplit({}, angeles.get());
  Insert(1);
  EXPECT_EQ(Split(*here, ToHook()).deliveries, 1U);
  const auto hook =
      angeles->OpenRelay({.table = kTable, .relay_id = "hook", .destination = "hook"}, Soon());
  ASSERT_OK(hook);
  EXPECT_FALSE((*hook)->Drained(Soon()).value());
  EXPECT_EQ(Next(**hook, Batch(10))->size(), 2U);
  sql_->Run("UPDATE orders_outbox_delivery SET status = 'delivered', processed_at = now()");
  EXPECT_TRUE((*hook)->Drained(Soon()).value());
  EXPECT_EQ(here->CompleteLeftOver(0, 10, Soon())->completed, 2U);
}

}  // namespace
}  // namespace outbox::store::postgres
