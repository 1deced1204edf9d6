// What makes the claim fast: HOT updates, and plans by index and ctid whatever the statistics say.
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
using Kind = Outcome::Kind;

class ClaimPlanTest : public PostgresTest {
 protected:
  // The generic plan of a query file, in a session set up as the relay's are.
  std::string Plan(std::string_view query, const std::string& arguments) {
    const auto table = message::TableName::Parse(kTable, "public").value();
    PlainConnection connection(url_);
    connection.Run(std::string(sql::postgres::kPinPlans));
    connection.Run("PREPARE s AS " + Statement(table, query).text);
    return connection.Table("EXPLAIN (COSTS OFF) EXECUTE s (" + arguments + ")");
  }

  void ExpectGoodPlans() {
    const std::string claim = Plan(sql::postgres::kClaimLease,
                                   "'t', 60000, '-infinity', 0, 100, 5, NULL, NULL, "
                                   "'0190b5c0-0000-7000-8000-000000000001', false, NULL");
    EXPECT_THAT(claim, HasSubstr("Tid Scan on orders_outbox"));
    EXPECT_THAT(claim, HasSubstr("Index Scan using orders_outbox_claim"));
    EXPECT_THAT(claim, Not(HasSubstr("Sort")));
    EXPECT_THAT(claim, Not(HasSubstr("Seq Scan")));
    const std::string transaction =
        Plan(sql::postgres::kClaimTransaction, "'-infinity', 0, 100, 5, NULL, NULL, NULL, 70000");
    EXPECT_THAT(transaction, HasSubstr("Index Scan using orders_outbox_claim"));
    EXPECT_THAT(transaction, Not(HasSubstr("Sort")));
    EXPECT_THAT(transaction, Not(HasSubstr("Seq Scan")));
    const std::string first =
        Plan(sql::postgres::kFirstDue, "'-infinity', 0, NULL, NULL, NULL, false, '{1}'");
    EXPECT_THAT(first, HasSubstr("Index Scan using orders_outbox_claim"));
    EXPECT_THAT(first, Not(HasSubstr("Sort")));
    const std::string settle =
        Plan(sql::postgres::kSettle,
             "'{0190b5c0-0000-7000-8000-000000000001}', '{0}', '{0}', '{\"\"}', 't', true");
    EXPECT_THAT(settle, HasSubstr("Index Scan using orders_outbox_pkey"));
    EXPECT_THAT(settle, Not(HasSubstr("Seq Scan")));
    EXPECT_THAT(Plan(sql::postgres::kSettleDeliveredKeep, "'{\"(0,1)\"}', '{1}', 't'"),
                HasSubstr("Tid Scan on orders_outbox"));
    const std::string noted =
        Plan(sql::postgres::kClaimLeaseNoted,
             "'t', 60000, '-infinity', 0, 100, 5, NULL, NULL, NULL, false, '{1}'");
    EXPECT_THAT(noted, HasSubstr("Tid Scan on orders_outbox"));
    EXPECT_THAT(noted, HasSubstr("Index Scan using orders_outbox_claim"));
    EXPECT_THAT(noted, Not(HasSubstr("Seq Scan")));
    EXPECT_THAT(
        Plan(sql::postgres::kSettleDeliveredKeepNoted, "'{\"(0,1)\"}', '{1}', 't', '', 'w', now()"),
        HasSubstr("Tid Scan on orders_outbox"));
    const std::string deleted =
        Plan(sql::postgres::kSettleDeliveredDeleteNoted, "'{\"(0,1)\"}', '{1}', 't'");
    EXPECT_THAT(deleted, HasSubstr("Tid Scan on orders_outbox"));
    EXPECT_THAT(deleted, HasSubstr("Index Scan using orders_outbox_attempt_message"));
    const std::string listed =
        Plan(sql::postgres::kListAttempts, "'0190b5c0-0000-7000-8000-000000000001', NULL, 100");
    EXPECT_THAT(listed, HasSubstr("Index Scan Backward using orders_outbox_attempt_message"));
    EXPECT_THAT(listed, Not(HasSubstr("Sort")));
    const std::string left_over = Plan(sql::postgres::kPurgeAttempts, "0, 100");
    EXPECT_THAT(left_over, HasSubstr("Index Scan using orders_outbox_attempt_message"));
    EXPECT_THAT(left_over, HasSubstr("using orders_outbox_pkey"));
    const std::string candidates =
        Plan(sql::postgres::kSplitCandidates, "'-infinity', 0, 100, NULL, NULL, NULL, 's', false");
    EXPECT_THAT(candidates, HasSubstr("Index Scan using orders_outbox_claim"));
    EXPECT_THAT(candidates, HasSubstr("using orders_outbox_delivery_pkey"));
    EXPECT_THAT(candidates, HasSubstr("using leader_pkey"));
    EXPECT_THAT(candidates, Not(HasSubstr("hashed")));
    EXPECT_THAT(candidates, Not(HasSubstr("Sort")));
    EXPECT_THAT(candidates, Not(HasSubstr("Seq Scan")));
    for (const std::string_view query :
         {sql::postgres::kClaimDelivery, sql::postgres::kClaimDeliveryNoted}) {
      const std::string deliveries =
          Plan(query, "'t', 60000, '-infinity', 0, 100, 5, 'hook', 200, '{a}', 50, false");
      EXPECT_THAT(deliveries, HasSubstr("Tid Scan on orders_outbox_delivery"));
      EXPECT_THAT(deliveries, HasSubstr("using orders_outbox_delivery_claim"));
      EXPECT_THAT(deliveries, HasSubstr("using orders_outbox_delivery_order"));
      EXPECT_THAT(deliveries, HasSubstr("hashed SubPlan")) << "the keys, once";
      EXPECT_THAT(deliveries, Not(HasSubstr("Seq Scan")));
    }
    const std::string left_behind = Plan(sql::postgres::kCompleteCandidates, "0, 100, true");
    EXPECT_THAT(left_behind, HasSubstr("Index Scan using orders_outbox_claim"));
    EXPECT_THAT(left_behind, HasSubstr("using orders_outbox_delivery_pkey"));
    EXPECT_THAT(left_behind, Not(HasSubstr("hashed")));
    EXPECT_THAT(left_behind, Not(HasSubstr("Sort")));
    EXPECT_THAT(Plan(sql::postgres::kNoteCutOff, "'{\"(0,1)\"}', 'rabbit'"),
                HasSubstr("Tid Scan on orders_outbox"));
    EXPECT_THAT(Plan(sql::postgres::kSplitLease, "'t', 60000, 5, '{\"(0,1)\"}'"),
                HasSubstr("Tid Scan on orders_outbox"));
    for (const auto& [query, arguments, index] :
         {std::tuple{sql::postgres::kPurgeDelivered, "0, 10, '-infinity'", "processed"},
          std::tuple{sql::postgres::kPurgeDead, "0, 10", "claim"}}) {
      const std::string purge = Plan(query, arguments);
      EXPECT_THAT(purge, HasSubstr(base::StrCat("Index Scan using orders_outbox_", index)));
      EXPECT_THAT(purge, HasSubstr("Index Scan using orders_outbox_delivery_pkey"));
      EXPECT_THAT(purge, Not(HasSubstr("Join"))) << "which would read all that was delivered";
      EXPECT_THAT(purge, Not(HasSubstr("hashed SubPlan 1")));
      EXPECT_THAT(purge, Not(HasSubstr("Sort")));
      EXPECT_THAT(purge, Not(HasSubstr("Seq Scan")));
    }
  }
};

TEST_F(ClaimPlanTest, GoesByIndexAndCtidOnATableThatWasNeverAnalysed) { ExpectGoodPlans(); }

TEST_F(ClaimPlanTest, GoesByIndexAndCtidOnATableAnalysedWhileEmpty) {
  sql_->Run("VACUUM ANALYZE orders_outbox");
  ExpectGoodPlans();
}

TEST_F(ClaimPlanTest, GoesByIndexAndCtidWithManyRows) {
  Insert(50'000);
  sql_->Run(
      "UPDATE orders_outbox SET status = 'delivered', processed_at = now() WHERE seq % 2 = 0");
  sql_->Run("VACUUM ANALYZE orders_outbox");
  ExpectGoodPlans();
}

TEST_F(ClaimPlanTest, AClaimLooksAtNoMoreDeliveriesThanAPageOfThem) {
  constexpr int kPage = 500;
  Insert(20'000);
  sql_->Run(
      "INSERT INTO orders_outbox_delivery (id, destination, seq, order_key, available_at) SELECT "
      "id, 'hook', seq, 'stuck', CASE seq WHEN 1 THEN now() + interval '1h' ELSE now() END FROM "
      "orders_outbox");
  const auto table = message::TableName::Parse(kTable, "public").value();
  for (const std::string_view query :
       {sql::postgres::kClaimDelivery, sql::postgres::kClaimDeliveryNoted}) {
    PlainConnection connection(url_);
    connection.Run(std::string(sql::postgres::kPinPlans));
    connection.Run("PREPARE s AS " + Statement(table, query).text);
    const std::string plan =
        connection.Table(base::StrCat("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) "
                                      "EXECUTE s ('t', 1, '-infinity', 0, 100, 5, 'hook', ",
                                      kPage, ", '{stuck}', 50, false)"));
    const std::regex count("(rows=|loops=|Filter: )([0-9]+)");
    for (std::sregex_iterator i(plan.begin(), plan.end(), count), end; i != end; ++i) {
      EXPECT_LE(std::stoi((*i)[2]), kPage) << plan;
    }
  }
}

TEST_F(ClaimPlanTest, WithoutPinnedPlansAnEmptyTableIsReadFromEndToEnd) {
  // The control: this is what the session settings are for.
  sql_->Run("VACUUM ANALYZE orders_outbox");
  const auto table = message::TableName::Parse(kTable, "public").value();
  sql_->Run("PREPARE s AS " + Statement(table, sql::postgres::kSettleDeliveredKeep).text);
  EXPECT_THAT(sql_->Table("EXPLAIN EXECUTE s ('{\"(0,1)\"}', '{1}', 't')"), HasSubstr("Seq Scan"));
}

// On a server of its own: an open transaction anywhere in a cluster keeps old row versions, and so
// takes away the room that HOT updates need.
class HotUpdateTest : public PostgresTest {
 protected:
  std::string ServerUrl() override {
    own_server_ = ::outbox::testing::PrivatePostgres::Start();
    return own_server_->url();
  }
  std::unique_ptr<::outbox::testing::PrivatePostgres> own_server_;
};

TEST_F(HotUpdateTest, LeasingAndReleasingAreHotUpdates) {
  constexpr int kRows = 2000;
  constexpr int kRounds = 3;
  Insert(kRows);
  for (int round = 0; round < kRounds; ++round) {
    // A new store scans from the beginning; closing it makes its sessions report their statistics.
    const auto store = OpenRelay();
    for (int batch = 0; batch < kRows / 100; ++batch) {
      const auto claim = Next(*store, Batch(100));
      ASSERT_EQ(claim->messages().size(), 100U);
      ASSERT_OK(claim->Extend(std::chrono::minutes(5), Soon()));
      ASSERT_OK(claim->Settle(All(*claim, Kind::kReleased), Soon()));
    }
  }
  const auto count = [&](const std::string& column) {
    return std::stod(
        Value("SELECT " + column + " FROM pg_stat_user_tables WHERE relname = 'orders_outbox'"));
  };
  ASSERT_TRUE(Eventually([&] { return count("n_tup_upd") == 3 * kRounds * kRows; }))
      << "updates seen: " << count("n_tup_upd");
  EXPECT_GE(count("n_tup_hot_upd") / count("n_tup_upd"), 0.95);
}

TEST_F(HotUpdateTest, LeasingInTheMessagesOwnRowIsAHotUpdate) {
  constexpr int kRows = 2000;
  constexpr int kRounds = 3;
  Insert(kRows);
  const message::Routes routes(
      std::vector<message::Route>{{.topics = "#", .destinations = {"hook"}}});
  for (int round = 0; round < kRounds; ++round) {
    const auto splitter = backend_->OpenSplit(
        {.table = kTable, .lanes = {{.table = kTable, .relay_id = "relay", .destination = "hook"}}},
        Soon());
    ASSERT_OK(splitter);
    for (int batch = 0; batch < kRows / 100; ++batch) {
      const auto report = (*splitter)->Split(
          routes,
          {.limit = 100,
           .lanes = {{.destination = "hook",
                      .claim = {.limit = 100, .lease = std::chrono::minutes(1)}}}},
          Soon());
      ASSERT_OK(report);
      ASSERT_EQ(report->claims.size(), 1U);
      store::Claim& claim = *report->claims[0].claim;
      ASSERT_EQ(claim.size(), 100U);
      ASSERT_OK(claim.Settle(All(claim, Kind::kReleased), Soon()));
    }
  }
  const auto count = [&](const std::string& column) {
    return std::stod(
        Value("SELECT " + column + " FROM pg_stat_user_tables WHERE relname = 'orders_outbox'"));
  };
  ASSERT_TRUE(Eventually([&] { return count("n_tup_upd") == 2 * kRounds * kRows; }))
      << "updates seen: " << count("n_tup_upd");
  EXPECT_GE(count("n_tup_hot_upd") / count("n_tup_upd"), 0.95);
}

}  // namespace
}  // namespace outbox::store::postgres
