#include <gtest/gtest.h>

#include "store/postgres/postgres_fixture.h"
#include "store/postgres/work_watch.h"

namespace outbox::store::postgres {
namespace {

using WorkWatchTest = PostgresTest;

TEST_F(WorkWatchTest, CallsBackWhenMessagesAreCommitted) {
  Migrate({.table = kTable, .notify = true});
  const auto store = OpenRelay();
  std::atomic<int> calls = 0;
  const auto watch = store->WatchForWork([&] { ++calls; }, Soon());
  ASSERT_OK(watch);
  EXPECT_EQ(calls, 0);
  PlainConnection producer(url_);
  producer.Run("BEGIN");
  producer.Run("SELECT outbox.enqueue('orders_outbox', 'orders.order.created.v1', '{}')");
  producer.Run("COMMIT");
  EXPECT_TRUE(Eventually([&] { return calls > 0; }));
}

TEST_F(WorkWatchTest, ListensAgainAfterItsConnectionDied) {
  Migrate({.table = kTable, .notify = true});
  const auto store = OpenRelay();
  std::atomic<int> calls = 0;
  const auto watch = store->WatchForWork([&] { ++calls; }, Soon());
  ASSERT_OK(watch);
  sql_->Run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
      " WHERE datname = current_database() AND query LIKE 'LISTEN%'");
  EXPECT_TRUE(Eventually([&] { return calls > 0; })) << "what it missed is reported as work";
  const int before = calls;
  Insert(1);
  EXPECT_TRUE(Eventually([&] { return calls > before; }));
}

TEST_F(WorkWatchTest, WithoutTheTriggerNobodyIsWoken) {
  Migrate({.table = kTable, .notify = true});
  Migrate({.table = kTable, .notify = false});
  PlainConnection listener(url_);
  listener.Run("LISTEN \"" + NotifyChannel(message::TableName::Parse(kTable, "public").value()) +
               "\"");
  Insert(1);
  listener.Run("SELECT 1");
  EXPECT_EQ(PQnotifies(listener.get()), nullptr);
}

}  // namespace
}  // namespace outbox::store::postgres
