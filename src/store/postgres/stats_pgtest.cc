// The counts of a table: exact up to a limit, close above it, and bounded in what they read,
// whatever the statistics say of the table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "message/table_name.h"
#include "sql/postgres.h"
#include "store/postgres/address.h"
#include "store/postgres/inspect_store.h"
#include "store/postgres/postgres_fixture.h"
#include "store/postgres/statement.h"

namespace outbox::store::postgres {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class StatsTest : public PostgresTest {
 protected:
  static constexpr StatsLimits kLimits{.counted = 1'000, .pages = 100, .pages_closer = 200};

  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    // Nothing but the rows themselves tells how many there are.
    sql_->Run("ALTER TABLE orders_outbox SET (autovacuum_enabled = off)");
    auto address = Address::Parse(url_);
    ASSERT_OK(address);
    store_ = std::make_unique<PostgresInspectStore>(
        std::make_shared<const Address>(std::move(address).value()),
        message::TableName::Parse(kTable, "public").value(), kLimits);
    ASSERT_OK(store_->Check(Soon()));
  }

  TableStats Stats(bool exact = false) {
    auto stats = store_->Stats(Scope::All(), exact, Soon());
    EXPECT_OK(stats);
    return stats.ok() ? *stats : TableStats{};
  }

  static void ExpectClose(std::int64_t estimate, std::int64_t truth) {
    EXPECT_NEAR(static_cast<double>(estimate), static_cast<double>(truth),
                static_cast<double>(truth) * 0.1);
  }

  // The plan of a query file as the store has it planned, with what running it read.
  std::string Plan(std::string_view query, const std::string& arguments) {
    const auto table = message::TableName::Parse(kTable, "public").value();
    PlainConnection connection(url_);
    connection.Run("BEGIN");
    connection.Run(std::string(sql::postgres::kPinQuery));
    connection.Run("PREPARE s AS " + Statement(table, query).text);
    return connection.Table("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) EXECUTE s (" +
                            arguments + ")");
  }

  // Pages that the whole statement touched.
  static long Pages(const std::string& plan) {
    const std::regex buffers("Buffers: shared(?: hit=(\\d+))?(?: read=(\\d+))?");
    std::smatch match;
    if (!std::regex_search(plan, match, buffers)) return 0;
    return (match[1].matched ? std::stol(match[1]) : 0) +
           (match[2].matched ? std::stol(match[2]) : 0);
  }

  std::unique_ptr<PostgresInspectStore> store_;
};

TEST_F(StatsTest, CountsUpToTheLimit) {
  Insert(999);
  const TableStats stats = Stats();
  EXPECT_EQ(stats.pending, 999);
  EXPECT_EQ(stats.due, 999);
  EXPECT_FALSE(stats.live_estimated);
}

TEST_F(StatsTest, EstimatesALargeBacklogOfATableThatWasNeverAnalysed) {
  Insert(40'000);
  sql_->Run("UPDATE orders_outbox SET attempts = 1 WHERE seq % 4 = 0");
  const TableStats stats = Stats();
  EXPECT_TRUE(stats.live_estimated);
  EXPECT_FALSE(stats.dead_estimated || stats.delivered_estimated);
  ExpectClose(stats.pending, 40'000);
  ExpectClose(stats.due, 40'000);
  ExpectClose(stats.retrying, 10'000);
  EXPECT_EQ(Stats(true).pending, 40'000);
}

TEST_F(StatsTest, FollowsABacklogThatGrowsAndShrinksWithoutAnalyze) {
  Insert(20'000);
  sql_->Run("VACUUM ANALYZE orders_outbox");
  Insert(30'000);
  ExpectClose(Stats().pending, 50'000);
  sql_->Run("DELETE FROM orders_outbox WHERE seq <= 38000");
  ExpectClose(Stats().pending, 12'000);
  sql_->Run("DELETE FROM orders_outbox WHERE seq <= 49500");
  const TableStats few = Stats();
  EXPECT_EQ(few.pending, 500);
  EXPECT_FALSE(few.live_estimated);
}

TEST_F(StatsTest, EstimatesASmallBacklogBehindManyDeliveredRows) {
  Insert(60'000);
  sql_->Run("UPDATE orders_outbox SET status = 'delivered', processed_at = now()");
  Insert(3'000);
  const TableStats stats = Stats();
  EXPECT_TRUE(stats.live_estimated);
  EXPECT_TRUE(stats.delivered_estimated);
  ExpectClose(stats.pending, 3'000);
  ExpectClose(stats.delivered, 60'000);
}

TEST_F(StatsTest, EstimatesDeadRowsAndMarksOnlyThem) {
  Insert(20'000);
  sql_->Run(
      "UPDATE orders_outbox SET status = 'dead', available_at = 'infinity' WHERE seq % 40 <> 0");
  const TableStats stats = Stats();
  EXPECT_TRUE(stats.dead_estimated);
  EXPECT_FALSE(stats.live_estimated || stats.delivered_estimated);
  EXPECT_EQ(stats.pending, 500);
  ExpectClose(stats.dead, 19'500);
}

TEST_F(StatsTest, CountsLeasedRowsAtTheHeadExactly) {
  Insert(20'000);
  sql_->Run(
      "UPDATE orders_outbox SET status = 'processing', locked_by = 'r', locked_until = now()"
      " + CASE WHEN seq <= 3 THEN -1 ELSE 1 END * interval '1h' WHERE seq <= 7");
  const TableStats stats = Stats();
  EXPECT_TRUE(stats.live_estimated);
  EXPECT_EQ(stats.processing, 7);
  EXPECT_EQ(stats.stale, 3);
}

TEST_F(StatsTest, FindsTheOldestBehindMoreLeasesThanItCounts) {
  Insert(3'000);
  sql_->Run(
      "UPDATE orders_outbox SET status = 'processing', locked_by = 'r', locked_until = now() +"
      " interval '1h', available_at = now() - interval '1h' WHERE seq <= 2000");
  sql_->Run("UPDATE orders_outbox SET available_at = now() - interval '1 min' WHERE seq = 2500");
  const TableStats stats = Stats();
  ASSERT_TRUE(stats.oldest_age.has_value());
  EXPECT_GE(*stats.oldest_age, std::chrono::minutes(1));
  EXPECT_LT(*stats.oldest_age, std::chrono::minutes(59));
}

TEST_F(StatsTest, ReadsABoundedNumberOfPagesOfATableThatWasNeverAnalysed) {
  Insert(60'000);
  const std::string counted = Plan(sql::postgres::kTableStats, "1000, 1000");
  EXPECT_THAT(counted, HasSubstr("Index Scan using orders_outbox_claim"));
  EXPECT_THAT(counted, HasSubstr("orders_outbox_processed"));
  EXPECT_THAT(counted, Not(HasSubstr("Seq Scan on orders_outbox")));
  EXPECT_THAT(counted, Not(HasSubstr("Bitmap")));
  EXPECT_THAT(counted, Not(HasSubstr("JIT")));
  // The thousand rows stand on pages of twenty and more; a page may be visited again.
  EXPECT_LT(Pages(counted), 1'000) << counted;
  const std::string sampled = Plan(sql::postgres::kSamplePages, "100, NULL, NULL, '-infinity', 0");
  EXPECT_THAT(sampled, HasSubstr("Tid Range Scan on orders_outbox"));
  EXPECT_THAT(sampled, Not(HasSubstr("Seq Scan")));
  EXPECT_LE(Pages(sampled), 110) << sampled;
  const std::string by_chance =
      Plan(sql::postgres::kSamplePages13, "100, NULL, NULL, '-infinity', 0");
  EXPECT_THAT(by_chance, HasSubstr("Sample Scan on orders_outbox"));
  EXPECT_LE(Pages(by_chance), 160) << by_chance;
}

// Lists of a table that was never analysed: by index, in order, and not by what a filter leaves.
TEST_F(StatsTest, ListsGoByIndexOnATableThatWasNeverAnalysed) {
  Insert(60'000);
  const std::string filters =
      "51, 'processing', false, 'x', 'k', now() - interval '1h', now(), 'e'";
  const std::string tenant = "'0190b5c0-0000-7000-8000-000000000001'";
  const std::vector<std::tuple<std::string_view, std::string, std::string>> expected{
      {sql::postgres::kListLive, filters + ", '-infinity', 0, 'infinity', 9, NULL, false",
       "Index Scan using orders_outbox_claim"},
      {sql::postgres::kPlaceLive, "'-infinity', 0, 1000, NULL",
       "Index Only Scan using orders_outbox_claim"},
      {sql::postgres::kListDelivered, filters + ", 'infinity', 9, '-infinity', false",
       "Index Scan Backward using orders_outbox_processed"},
      {sql::postgres::kListTenant, filters + ", " + tenant + ", 9, 0, 0, true, true, false",
       "Index Scan Backward using orders_outbox_tenant_live"},
      {sql::postgres::kListAggregate, filters + ", 9, 0, 't', 'i', NULL, false",
       "Index Scan Backward using orders_outbox_aggregate"}};
  for (const auto& [query, arguments, index] : expected) {
    const std::string plan = Plan(query, arguments);
    EXPECT_THAT(plan, HasSubstr(index));
    EXPECT_THAT(plan, Not(HasSubstr("Seq Scan")));
    EXPECT_THAT(plan, Not(HasSubstr("Bitmap")));
  }
  const std::string page = Plan(
      sql::postgres::kListLive,
      "51, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '-infinity', 0, 'infinity', 9, NULL, false");
  EXPECT_LT(Pages(page), 60) << page;
}

TEST_F(StatsTest, TheSampleForPostgres13SeesTheSameRows) {
  Insert(60'000);
  const auto table = message::TableName::Parse(kTable, "public").value();
  sql_->Run("PREPARE s AS " + Statement(table, sql::postgres::kSamplePages13).text);
  const std::string row = sql_->Table("EXECUTE s (400, NULL, NULL, '-infinity', 0)");
  std::int64_t pages = 0;
  std::int64_t read = 0;
  std::int64_t pending = 0;
  ASSERT_EQ(std::sscanf(row.c_str(), "%ld|%ld|%ld|", &pages, &read, &pending), 3) << row;
  EXPECT_EQ(std::to_string(pages), Value("SELECT pg_relation_size('orders_outbox') / 8192"));
  ExpectClose(pending * pages / read, 60'000);
}

}  // namespace
}  // namespace outbox::store::postgres
