#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "message/table_name.h"
#include "sql/postgres.h"
#include "store/postgres/postgres_fixture.h"
#include "store/postgres/statement.h"

namespace outbox::store::postgres {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class InspectTest : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (backend_ == nullptr) return;
    inspect_ = backend_->OpenInspect(kTable, Soon()).value();
    clean_ = backend_->OpenClean(kTable, Soon()).value();
  }
  void TearDown() override {
    inspect_.reset();
    clean_.reset();
    PostgresTest::TearDown();
  }

  // 1–3 pending, 4 retrying, 5 leased, 6 leased and expired, 7–8 dead, 9–12 delivered.
  void Fill() {
    Insert(12);
    sql_->Run("UPDATE orders_outbox SET attempts = 1 WHERE seq = 4");
    sql_->Run(
        "UPDATE orders_outbox SET status = 'processing', locked_by = 'r/1', attempts = 1,"
        " locked_until = now() + CASE seq WHEN 5 THEN 1 ELSE -1 END * interval '1 hour'"
        " WHERE seq IN (5, 6)");
    sql_->Run(
        "UPDATE orders_outbox SET status = 'dead', available_at = 'infinity', attempts = 20,"
        " last_error = 'refused', updated_at = now() - (seq - 6) * interval '1 day'"
        " WHERE seq IN (7, 8)");
    sql_->Run(
        "UPDATE orders_outbox SET status = 'delivered', attempts = 1,"
        " processed_at = now() - (seq - 8) * interval '1 day' WHERE seq > 8");
  }

  // The seqs of a list, page by page: "1,2/3".
  std::string Pages(ListFilter filter, const Scope& scope = Scope::All()) {
    std::string text;
    do {
      const auto page = inspect_->List(scope, filter, Soon());
      EXPECT_OK(page);
      if (!page.ok()) break;
      for (const StoredMessage& row : page->rows) {
        text += (text.empty() || text.back() == '/' ? "" : ",") + std::to_string(row.message.seq);
      }
      filter.after = page->next;
      if (!filter.after.empty()) text += "/";
    } while (!filter.after.empty());
    return text;
  }

  std::unique_ptr<InspectStore> inspect_;
  std::unique_ptr<CleanStore> clean_;
};

TEST_F(InspectTest, ListsEachKindInItsOrderPageByPage) {
  Fill();
  EXPECT_EQ(Pages({.limit = 3}), "1,2,3/4,5,6/7,8");
  EXPECT_EQ(Pages({.status = ListStatus::kPending, .limit = 3}), "1,2,3/4");
  EXPECT_EQ(Pages({.status = ListStatus::kProcessing, .limit = 1}), "5/6");
  EXPECT_EQ(Pages({.status = ListStatus::kDead, .limit = 1}), "7/8");
  EXPECT_EQ(Pages({.status = ListStatus::kDelivered, .limit = 3}), "9,10,11/12");
  EXPECT_EQ(Pages({.topic = "no.such.topic.v1"}), "");
}

TEST_F(InspectTest, PagesOverDeliveriesOfOneMoment) {
  Insert(7);
  sql_->Run("UPDATE orders_outbox SET status = 'delivered', processed_at = now()");
  EXPECT_EQ(Pages({.status = ListStatus::kDelivered, .limit = 3}), "7,6,5/4,3,2/1");
}

TEST_F(InspectTest, ListsByAggregateAndByTenantNewestFirst) {
  sql_->Run(
      "SELECT outbox.enqueue('orders_outbox', 'a.b.c.v1', '{}', aggregate_type => 'order',"
      " aggregate_id => (n % 2)::text, tenant_id => CASE n % 3 WHEN 0 THEN"
      " '0190b5c0-0000-7000-8000-000000000001'::uuid END) FROM generate_series(1, 6) AS n");
  EXPECT_EQ(Pages({.aggregate_type = "order", .aggregate_id = "1", .limit = 2}), "5,3/1");
  const Scope tenant = Scope::Tenant(*Uuid::Parse("0190b5c0-0000-7000-8000-000000000001"));
  EXPECT_EQ(Pages({.limit = 1}, tenant), "6/3");
  sql_->Run("UPDATE orders_outbox SET status = 'delivered', processed_at = now() WHERE seq = 3");
  EXPECT_EQ(Pages({}, tenant), "6");
  EXPECT_EQ(Pages({.status = ListStatus::kDelivered}, tenant), "3");
  EXPECT_EQ(Pages({.status = ListStatus::kAll, .limit = 1}, tenant), "6/3");
}

TEST_F(InspectTest, RefusesAPositionOfAnotherList) {
  EXPECT_THAT(inspect_->List(Scope::All(), {.after = "d.1.2"}, Soon()),
              HasCode(Code::kInvalidArgument));
  EXPECT_THAT(inspect_->List(Scope::All(), {.after = "nonsense"}, Soon()),
              HasCode(Code::kInvalidArgument));
}

TEST_F(InspectTest, ShowsOneRowAsItStands) {
  Fill();
  const auto id = Uuid::Parse(Value("SELECT id FROM orders_outbox WHERE seq = 7"));
  const auto found = inspect_->Get(Scope::All(), *id, Soon());
  ASSERT_OK(found);
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->status, MessageStatus::kDead);
  EXPECT_EQ((*found)->last_error, "refused");
  EXPECT_EQ((*found)->message.attempt, 20);
  EXPECT_EQ((*found)->message.payload, "{\"n\" : 7}");
  EXPECT_EQ((*found)->message.available_at, Timestamp::max());
  const auto missing = inspect_->Get(Scope::All(), Uuid::NewV7(), Soon());
  ASSERT_OK(missing);
  EXPECT_FALSE(missing->has_value());
}

TEST_F(InspectTest, CountsWhatTheTableHolds) {
  EXPECT_FALSE(inspect_->Stats(Scope::All(), false, Soon())->oldest_age.has_value());
  Fill();
  const auto stats = inspect_->Stats(Scope::All(), false, Soon());
  ASSERT_OK(stats);
  EXPECT_EQ(stats->pending, 4);
  EXPECT_EQ(stats->due, 4);
  EXPECT_EQ(stats->retrying, 1);
  EXPECT_EQ(stats->processing, 2);
  EXPECT_EQ(stats->stale, 1);
  EXPECT_EQ(stats->dead, 2);
  EXPECT_EQ(stats->delivered, 4);
  EXPECT_FALSE(stats->live_estimated || stats->dead_estimated || stats->delivered_estimated);
  EXPECT_TRUE(stats->oldest_age.has_value());
}

TEST_F(InspectTest, EstimatesALongHistoryAndCountsItWhenAsked) {
  Insert(30'000);
  sql_->Run("UPDATE orders_outbox SET status = 'delivered', processed_at = now() WHERE seq > 100");
  sql_->Run("VACUUM ANALYZE orders_outbox");
  const auto estimate = inspect_->Stats(Scope::All(), false, Soon());
  ASSERT_OK(estimate);
  EXPECT_TRUE(estimate->delivered_estimated);
  EXPECT_FALSE(estimate->live_estimated);
  EXPECT_EQ(estimate->pending, 100);
  EXPECT_NEAR(static_cast<double>(estimate->delivered), 29'900, 3'000);
  const auto exact = inspect_->Stats(Scope::All(), true, Soon());
  ASSERT_OK(exact);
  EXPECT_FALSE(exact->delivered_estimated);
  EXPECT_EQ(exact->delivered, 29'900);
}

TEST_F(InspectTest, RetryTouchesOnlyTheDead) {
  Fill();
  EXPECT_EQ(*inspect_->Retry(Scope::All(), {.filter = RepairFilter{}}, true, 100, Soon()), 2U);
  EXPECT_EQ(Value("SELECT count(*) FROM orders_outbox WHERE status = 'dead'"), "2");
  EXPECT_EQ(*inspect_->Retry(Scope::All(), {.filter = RepairFilter{}}, false, 1, Soon()), 1U);
  EXPECT_EQ(sql_->Table("SELECT status, attempts, available_at <= now() FROM orders_outbox"
                        " WHERE seq = 7"),
            "pending|0|t\n");
  std::vector<Uuid> ids;
  for (const char* seq : {"1", "5", "8", "9"}) {
    ids.push_back(
        *Uuid::Parse(Value(base::StrCat("SELECT id FROM orders_outbox WHERE seq = ", seq))));
  }
  EXPECT_EQ(*inspect_->Retry(Scope::All(), {.ids = ids}, false, 100, Soon()), 1U);
  EXPECT_EQ(*inspect_->Retry(Scope::All(), {.ids = ids}, false, 100, Soon()), 0U);
  EXPECT_EQ(*inspect_->Retry(Scope::All(), {.filter = RepairFilter{.topic = "x.y.z.v1"}}, false,
                             100, Soon()),
            0U);
}

TEST_F(InspectTest, DeleteLeavesLeasedAndDeliveredRowsAlone) {
  Fill();
  std::vector<Uuid> ids;
  for (const char* seq : {"1", "5", "7", "9"}) {
    ids.push_back(
        *Uuid::Parse(Value(base::StrCat("SELECT id FROM orders_outbox WHERE seq = ", seq))));
  }
  EXPECT_EQ(*inspect_->Delete(Scope::All(), {.ids = ids}, true, 100, Soon()), 2U);
  EXPECT_EQ(Value("SELECT count(*) FROM orders_outbox"), "12");
  EXPECT_EQ(*inspect_->Delete(Scope::All(), {.ids = ids}, false, 100, Soon()), 2U);
  EXPECT_EQ(Value("SELECT count(*) FROM orders_outbox WHERE seq IN (1, 7)"), "0");
  EXPECT_EQ(*inspect_->Delete(Scope::All(), {.filter = RepairFilter{}}, false, 100, Soon()), 1U);
  EXPECT_EQ(Value("SELECT count(*) FROM orders_outbox"), "9");
}

class LongTableTest : public InspectTest {
 protected:
  static constexpr const char* kTenant = "0190b5c0-0000-7000-8000-000000000001";
  const Scope tenant_ = Scope::Tenant(*Uuid::Parse(kTenant));

  // 45,000 rows of one tenant and one aggregate, of which seqs 1, 25,000 and 45,000 have an error.
  // A call looks at 10,000.
  void FillLong() {
    sql_->Run(base::StrCat(
        "INSERT INTO orders_outbox (id, topic, payload, tenant_id, aggregate_type, aggregate_id)"
        " SELECT outbox.uuid_v7(), 'a.b.c.v1', '{}', '",
        kTenant, "', 'order', '7' FROM generate_series(1, 45000)"));
    sql_->Run("UPDATE orders_outbox SET last_error = 'timeout' WHERE seq IN (1, 25000, 45000)");
  }

  // The seqs found, and in how many calls.
  std::pair<std::string, int> Find(ListFilter filter, const Scope& scope) {
    filter.error_contains = "timeout";
    std::string seqs;
    int calls = 0;
    do {
      const auto page = inspect_->List(scope, filter, Soon());
      EXPECT_OK(page);
      if (!page.ok()) break;
      ++calls;
      for (const StoredMessage& row : page->rows) {
        seqs += base::StrCat(seqs.empty() ? "" : ",", row.message.seq);
      }
      filter.after = page->next;
    } while (!filter.after.empty());
    return {seqs, calls};
  }
};

TEST_F(LongTableTest, ACallLooksAtABoundedNumberOfRowsAndTheNextGoesOnFromThere) {
  FillLong();
  const ListFilter aggregate{.aggregate_type = "order", .aggregate_id = "7"};
  EXPECT_EQ(Find({}, Scope::All()), std::pair(std::string("1,25000,45000"), 5));
  EXPECT_EQ(Find({}, tenant_), std::pair(std::string("45000,25000,1"), 5));
  EXPECT_EQ(Find(aggregate, Scope::All()), std::pair(std::string("45000,25000,1"), 5));
  const auto page = inspect_->ListNumbered(tenant_, {.error_contains = "timeout"}, 1, Soon());
  ASSERT_OK(page);
  EXPECT_EQ(page->total, 1) << "among the newest";
  EXPECT_TRUE(page->total_capped);
  EXPECT_FALSE(page->next.empty());
  // Many of one moment: all of it is looked at.
  sql_->Run(
      "UPDATE orders_outbox SET status = 'delivered', processed_at ="
      " CASE WHEN seq <= 22000 THEN '2026-01-01'::timestamptz ELSE '2026-01-01'::timestamptz + seq "
      "*"
      " interval '1 ms' END");
  const auto [seqs, calls] = Find({.status = ListStatus::kDelivered}, Scope::All());
  EXPECT_EQ(seqs, "45000,25000,1");
  EXPECT_GT(calls, 1);
  // What was delivered before that was created before, too: nobody looks there.
  EXPECT_EQ(Find({.status = ListStatus::kDelivered,
                  .created_from = std::chrono::floor<Timestamp::duration>(
                      std::chrono::system_clock::now() + std::chrono::hours(1))},
                 Scope::All()),
            std::pair(std::string(), 1));
}

TEST_F(LongTableTest, CountsOfATenantStopAtTheirLimitAndSaySo) {
  FillLong();
  const auto live = inspect_->Stats(tenant_, false, Soon());
  ASSERT_OK(live);
  EXPECT_TRUE(live->capped);
  EXPECT_EQ(live->pending, 10'000);
  EXPECT_TRUE(ToTenantStats(*live).capped);
  EXPECT_EQ(inspect_->Stats(tenant_, true, Soon())->pending, 45'000);
  sql_->Run("UPDATE orders_outbox SET status = 'delivered', processed_at = now() WHERE seq > 10");
  const auto stats = inspect_->Stats(tenant_, false, Soon());
  ASSERT_OK(stats);
  EXPECT_FALSE(stats->capped);
  EXPECT_EQ(stats->pending, 10);
  EXPECT_EQ(stats->delivered, 44'990);
  const auto page =
      inspect_->ListNumbered(tenant_, {.status = ListStatus::kAll, .limit = 100}, 450, Soon());
  ASSERT_OK(page);
  EXPECT_EQ(page->total, 45'000);
  ASSERT_EQ(page->rows.size(), 100U);
  EXPECT_EQ(page->rows.front().message.seq, 100);
  EXPECT_EQ(page->next, "");
}

TEST_F(LongTableTest, ATenantsRowsAreCountedAndPassedOverByIndexAlone) {
  FillLong();
  sql_->Run("UPDATE orders_outbox SET status = 'delivered', processed_at = now() WHERE seq > 5000");
  sql_->Run("VACUUM ANALYZE orders_outbox");
  const auto table = message::TableName::Parse(kTable, "public").value();
  const auto plan = [&](std::string_view query, const std::string& arguments) {
    PlainConnection connection(url_);
    connection.Run("SET plan_cache_mode = force_custom_plan");
    connection.Run("PREPARE s AS " + Statement(table, query).text);
    return connection.Table("EXPLAIN (COSTS OFF) EXECUTE s (" + arguments + ")");
  };
  const std::string tenant = base::StrCat("'", kTenant, "'");
  const std::string no_filter = "NULL, NULL, NULL, NULL, NULL, NULL, NULL";
  const std::string count = plan(sql::postgres::kCountTenant,
                                 base::StrCat("100000, ", no_filter, ", ", tenant, ", true, true"));
  const std::string place =
      plan(sql::postgres::kPlaceTenant, base::StrCat(tenant, ", 40000, 10000, true, true"));
  for (const std::string& text : {count, place}) {
    EXPECT_THAT(text, HasSubstr("Index Only Scan Backward using orders_outbox_tenant_live"));
    EXPECT_THAT(text, HasSubstr("Index Only Scan Backward using orders_outbox_tenant_history"));
  }
  EXPECT_THAT(plan(sql::postgres::kTenantStats, tenant + ", 10000, 100000"),
              HasSubstr("Index Only Scan using orders_outbox_tenant_history"));
  for (const char* whole : {"true", "false"}) {
    const std::string list =
        plan(sql::postgres::kListTenant,
             base::StrCat("101, ", no_filter, ", ", tenant, ", 40000, 0, 0, true, true, ", whole));
    EXPECT_THAT(list, HasSubstr("Index Scan Backward using orders_outbox_tenant_live"));
    EXPECT_THAT(list, HasSubstr("Index Scan Backward using orders_outbox_tenant_history"));
    EXPECT_THAT(list, Not(HasSubstr("Seq Scan")));
  }
}

TEST_F(InspectTest, DeadDeliveriesAreFoundByTheirSinks) {
  Insert(50'000);
  sql_->Run(
      "UPDATE orders_outbox SET status = 'processing', locked_by = 'deliveries', available_at ="
      " '9999-12-31 00:00:00+00' WHERE seq <= 20000");
  sql_->Run(
      "INSERT INTO orders_outbox_delivery (id, destination, seq, status, available_at, last_error)"
      " SELECT id, d, seq, CASE WHEN dead THEN 'dead' ELSE 'pending' END,"
      " CASE WHEN dead THEN 'infinity' ELSE now() END, CASE WHEN dead THEN 'refused' END"
      " FROM orders_outbox, unnest('{hook,rabbit}'::text[]) AS d,"
      " LATERAL (SELECT d = 'hook' AND seq % 100 = 0) AS s (dead) WHERE seq <= 20000");
  for (const char* analyze : {"SELECT 1", "ANALYZE orders_outbox, orders_outbox_delivery"}) {
    sql_->Run(analyze);
    const auto table = message::TableName::Parse(kTable, "public").value();
    PlainConnection connection(url_);
    connection.Run("SET plan_cache_mode = force_custom_plan");
    connection.Run("PREPARE s AS " + Statement(table, sql::postgres::kRetryFiltered).text);
    const std::string plan = connection.Table(
        "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)"
        " EXECUTE s (true, 100, true, NULL, NULL, NULL, NULL, NULL)");
    EXPECT_THAT(plan, HasSubstr("using orders_outbox_delivery_claim"));
    EXPECT_THAT(plan, HasSubstr("using orders_outbox_claim"));
    EXPECT_THAT(plan, Not(HasSubstr("Seq Scan"))) << plan;
    // The dead are looked at, and a row or so of each sink that has others.
    const std::regex count("(rows=|loops=|Filter: )([0-9]+)");
    for (std::sregex_iterator i(plan.begin(), plan.end(), count), end; i != end; ++i) {
      EXPECT_LE(std::stoi((*i)[2]), 200) << plan;
    }
  }
  EXPECT_EQ(*inspect_->Retry(Scope::All(), {.filter = RepairFilter{}}, true, 1000, Soon()), 200U);
}

TEST_F(InspectTest, ARowThatATransactionClaimHoldsIsLeftAlone) {
  Insert(1);
  sql_->Run("UPDATE orders_outbox SET attempts = 1, last_error = 'x'");
  const Uuid id = *Uuid::Parse(Value("SELECT id FROM orders_outbox"));
  const auto relay = OpenRelay({.claim_mode = ClaimMode::kTransaction});
  const auto claim = Next(*relay, Batch(1));
  ASSERT_EQ(claim->messages().size(), 1U);
  const Deadline soon = Soon();
  EXPECT_EQ(inspect_->RetryOne(Scope::All(), id, nullptr, soon)->outcome,
            RepairResult::Outcome::kRefused);
  EXPECT_EQ(inspect_->DeleteOne(Scope::All(), id, nullptr, soon)->outcome,
            RepairResult::Outcome::kRefused);
  EXPECT_EQ(*inspect_->Retry(Scope::All(), {.ids = {id}}, false, 1, soon), 0U);
  EXPECT_OK(claim->Settle(All(*claim, Outcome::Kind::kDelivered), Soon()));
  EXPECT_EQ(Value("SELECT status || attempts FROM orders_outbox"), "delivered2");
}

TEST_F(InspectTest, CleaningRespectsRetentionAndLimit) {
  Fill();
  const auto days = [](int count) {
    return std::chrono::hours(24 * count) + std::chrono::hours(12);
  };
  EXPECT_EQ(*clean_->PurgeDelivered(days(2), 1, Soon()), 1U);
  EXPECT_EQ(Value("SELECT count(*) FROM orders_outbox WHERE seq = 12"), "0") << "oldest first";
  EXPECT_EQ(*clean_->PurgeDelivered(days(2), 100, Soon()), 1U);
  EXPECT_EQ(*clean_->PurgeDelivered(days(2), 100, Soon()), 0U);
  EXPECT_EQ(*clean_->PurgeDead(days(1), 100, Soon()), 1U);
  EXPECT_EQ(Value("SELECT string_agg(seq::text, ',' ORDER BY seq) FROM orders_outbox"),
            "1,2,3,4,5,6,7,9,10");
}

TEST_F(InspectTest, PurgingTheAuditReadsItsOldestRecordsOnly) {
  sql_->Run(
      "INSERT INTO outbox.audit (at, actor, action, table_name, filter, matched, changed, "
      "request_id)"
      " SELECT now() - (6000 - n) / 10 * interval '1 day', 'o', 'retry', 'public.' || t, '{}', 1, "
      "1,"
      " '' FROM generate_series(1, 6000) AS n, unnest(ARRAY['other', 'orders_outbox']) AS t");
  const auto read = [&](const std::string& days) {
    PlainConnection connection(url_);
    connection.Run(std::string(sql::postgres::kPinPlans));
    connection.Run("BEGIN");
    const std::string purged = connection.Run(base::StrCat(
        "SELECT outbox.purge_audit('", kTable, "', ", days, " * 86400000::bigint, 100)"));
    const std::string rows = connection.Run(
        "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables"
        " WHERE schemaname = 'outbox' AND relname = 'audit'");
    connection.Run("COMMIT");
    return base::StrCat(purged, " of ", rows);
  };
  EXPECT_EQ(read("365"), "100 of 200") << "found and deleted by index";
  EXPECT_EQ(read("1000"), "0 of 100");
}

TEST_F(InspectTest, WithoutTheFunctionOfANewerInstallationTheAuditIsNotPurged) {
  sql_->Run("DROP FUNCTION outbox.purge_audit");
  const auto missing = clean_->PurgeAudit(std::chrono::hours(24 * 365), 100, Soon());
  EXPECT_THAT(missing, HasCode(Code::kSchema));
  EXPECT_THAT(missing.error().hint(), HasSubstr("migrate up"));
  EXPECT_OK(clean_->PurgeDelivered(std::chrono::hours(24), 100, Soon()));
}

}  // namespace
}  // namespace outbox::store::postgres
