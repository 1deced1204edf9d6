// The counts of a table: exact up to a limit, close above it.
#include <gtest/gtest.h>

#include "base/text.h"
#include "store/sqlite/inspect_store.h"
#include "store/sqlite/test_database.h"

namespace outbox::store::sqlite {
namespace {

class StatsTest : public ::testing::Test {
 protected:
  static constexpr StatsLimits kLimits{.counted = 1'000, .runs = 40, .runs_closer = 80};

  void Run(const std::string& sql) {
    auto query = connection_->Prepare(sql);
    ASSERT_OK(query);
    ASSERT_OK(query->Run());
  }

  void Insert(int count) {
    Run(base::StrCat(
        "INSERT INTO orders_outbox (id, topic, payload) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL"
        " SELECT i + 1 FROM n WHERE i < ",
        count,
        ") SELECT lower(hex(randomblob(16))) || '0000', 'orders.order.created.v1', '{}' FROM n"));
  }

  TableStats Stats(bool exact = false) {
    auto store = OpenInspectStore(database_.path(), TestDatabase::kTable, Soon(), kLimits);
    EXPECT_OK(store);
    auto stats = (*store)->Stats(Scope::All(), exact, Soon());
    EXPECT_OK(stats);
    return stats.ok() ? *stats : TableStats{};
  }

  static void ExpectClose(std::int64_t estimate, std::int64_t truth) {
    EXPECT_NEAR(static_cast<double>(estimate), static_cast<double>(truth),
                static_cast<double>(truth) * 0.1);
  }

  TestDatabase database_;
  std::unique_ptr<Connection> connection_ = database_.Connect();
};

TEST_F(StatsTest, CountsUpToTheLimit) {
  Insert(999);
  EXPECT_EQ(Stats().pending, 999);
  EXPECT_FALSE(Stats().live_estimated);
}

TEST_F(StatsTest, EstimatesALargeBacklog) {
  Insert(40'000);
  Run("UPDATE orders_outbox SET attempts = 1 WHERE seq > 20000");
  const TableStats stats = Stats();
  EXPECT_TRUE(stats.live_estimated);
  EXPECT_FALSE(stats.dead_estimated || stats.delivered_estimated);
  ExpectClose(stats.pending, 40'000);
  ExpectClose(stats.retrying, 20'000);
  EXPECT_EQ(Stats(true).pending, 40'000);
}

TEST_F(StatsTest, EstimatesASmallBacklogBehindManyDeliveredRows) {
  Insert(60'000);
  Run("UPDATE orders_outbox SET status = 'delivered', processed_at = 1");
  Insert(5'000);
  const TableStats stats = Stats();
  EXPECT_TRUE(stats.live_estimated);
  EXPECT_TRUE(stats.delivered_estimated);
  ExpectClose(stats.pending, 5'000);
  ExpectClose(stats.delivered, 60'000);
}

TEST_F(StatsTest, ALoneOldMessageDoesNotSpoilTheEstimate) {
  Insert(100'000);
  Run("DELETE FROM orders_outbox WHERE seq BETWEEN 2 AND 94000");
  ExpectClose(Stats().pending, 6'001);
}

}  // namespace
}  // namespace outbox::store::sqlite
