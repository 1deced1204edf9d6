#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "store/postgres/postgres_fixture.h"

namespace outbox::store::postgres {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = Outcome::Kind;

class TransactionClaimTest : public PostgresTest {
 protected:
  std::unique_ptr<RelayStore> OpenTransactions(bool keep_delivered = true) {
    return OpenRelay({.claim_mode = ClaimMode::kTransaction, .keep_delivered = keep_delivered});
  }
};

TEST_F(TransactionClaimTest, WritesAllOutcomesWhenTheLastOneIsKnown) {
  Insert(4);
  const auto store = OpenTransactions();
  EXPECT_FALSE(store->traits().leases);
  const auto claim = Next(*store, Batch(10));
  ASSERT_EQ(claim->messages().size(), 4U);
  EXPECT_EQ(claim->messages()[0].attempt, 1);
  ASSERT_OK(claim->Settle(std::vector<Outcome>{{.index = 0, .kind = Kind::kDelivered},
                                               {.index = 1,
                                                .kind = Kind::kRetry,
                                                .retry_in = std::chrono::hours(1),
                                                .error = "timed out"}},
                          Soon()));
  EXPECT_EQ(Value("SELECT count(*) FROM orders_outbox WHERE status = 'pending'"), "4");
  ASSERT_OK(
      claim->Settle(std::vector<Outcome>{{.index = 2, .kind = Kind::kDead, .error = "refused"},
                                         {.index = 3, .kind = Kind::kReleased}},
                    Soon()));
  EXPECT_EQ(sql_->Table("SELECT seq, status, attempts, coalesce(last_error, '') FROM orders_outbox"
                        " ORDER BY seq"),
            "1|delivered|1|\n2|pending|1|timed out\n3|dead|1|refused\n4|pending|0|\n");
}

TEST_F(TransactionClaimTest, DeletesDeliveredWhenNothingIsKept) {
  Insert(2);
  const auto store = OpenTransactions(false);
  const auto claim = Next(*store, Batch(10));
  ASSERT_OK(claim->Settle(All(*claim, Kind::kDelivered), Soon()));
  EXPECT_EQ(Value("SELECT count(*) FROM orders_outbox"), "0");
}

TEST_F(TransactionClaimTest, HoldsItsRowsAgainstOthersWithoutWritingAnything) {
  Insert(3);
  const auto one = OpenTransactions();
  const auto two = OpenTransactions();
  const auto held = Next(*one, Batch(2));
  EXPECT_EQ(held->messages().size(), 2U);
  EXPECT_EQ(Next(*two, Batch(10))->messages().size(), 1U);
  EXPECT_EQ(Value("SELECT count(*) FROM orders_outbox WHERE locked_by IS NOT NULL"), "0");
}

TEST_F(TransactionClaimTest, IsRolledBackWhenDestroyedUnsettled) {
  Insert(3);
  const auto store = OpenTransactions();
  {
    const auto claim = Next(*store, Batch(10));
    ASSERT_OK(claim->Settle(std::vector<Outcome>{{.index = 0, .kind = Kind::kDelivered}}, Soon()));
  }
  EXPECT_EQ(Value("SELECT count(*) FROM orders_outbox WHERE status = 'pending' AND attempts = 0"),
            "3");
  const auto other = OpenTransactions();
  EXPECT_EQ(Next(*other, Batch(10))->messages().size(), 3U);
}

TEST_F(TransactionClaimTest, FreesItsRowsAtOnceWhenTheConnectionDies) {
  Insert(3);
  const auto store = OpenTransactions();
  const auto claim = Next(*store, Batch(10));
  sql_->Run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
      " WHERE datname = current_database() AND state = 'idle in transaction'");
  const auto other = OpenTransactions();
  ASSERT_TRUE(Eventually([&] { return Next(*other, Batch(10))->messages().size() == 3; }));

  EXPECT_THAT(claim->Settle(All(*claim, Kind::kDelivered), Soon()).value().lost,
              ElementsAre(0U, 1U, 2U));
  EXPECT_EQ(Value("SELECT count(*) FROM orders_outbox WHERE status = 'delivered'"), "0");
}

TEST_F(TransactionClaimTest, IsLostWithItsConnection) {
  Insert(3);
  const auto store = OpenTransactions();
  const auto claim = Next(*store, Batch(10));
  EXPECT_THAT(claim->Extend(1s, Soon()).value(), IsEmpty());
  sql_->Run(
      "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
      " WHERE datname = current_database() AND state = 'idle in transaction'");
  EXPECT_THAT(claim->Extend(1s, Soon()).value(), ElementsAre(0U, 1U, 2U));
  EXPECT_THAT(claim->Extend(1s, Soon()).value(), ElementsAre(0U, 1U, 2U)) << "for good";
  EXPECT_THAT(claim->Settle(All(*claim, Kind::kDelivered), Soon()).value().lost,
              ElementsAre(0U, 1U, 2U));
  EXPECT_EQ(Next(*store, Batch(10))->messages().size(), 3U) << "at once, and in a new session";
}

// The server waits ten seconds longer than the lease.
TEST_F(TransactionClaimTest, IsCutOffWhenItsRelayStandsStillAndKeptWhenItDoesNot) {
  Insert(3);
  const auto store = OpenTransactions();
  ClaimRequest request = Batch(1);
  request.lease = 1ms;
  const auto frozen = Next(*store, request);
  const auto alive = Next(*store, request);
  ASSERT_EQ(frozen->size(), 1U);
  ASSERT_EQ(alive->size(), 1U);
  const auto other = OpenTransactions();
  std::vector<std::int64_t> freed;
  ASSERT_TRUE(Eventually(
      [&] {
        EXPECT_THAT(alive->Extend(1ms, Soon()).value(), IsEmpty());
        for (const Message& message : Next(*other, Batch(10))->messages())
          freed.push_back(message.seq);
        return std::ranges::count(freed, 1) > 0;
      },
      90s));
  EXPECT_EQ(std::ranges::count(freed, 2), 0) << "one that is heard of is kept";
  EXPECT_THAT(frozen->Extend(1ms, Soon()).value(), ElementsAre(0U));
  EXPECT_OK(alive->Settle(All(*alive, Kind::kDelivered), Soon()));
  EXPECT_EQ(
      Value("SELECT string_agg(seq::text, ',') FROM orders_outbox WHERE status = 'delivered'"),
      "2");
}

TEST_F(TransactionClaimTest, OpensAsManyAsItsTraitsSayAndNoMore) {
  const auto store = OpenTransactions();
  const std::size_t most = store->traits().claims_max;
  Insert(static_cast<int>(most) + 1);
  std::vector<std::unique_ptr<Claim>> claims;
  for (std::size_t i = 0; i < most; ++i) {
    claims.push_back(Next(*store, Batch(1)));
    ASSERT_EQ(claims.back()->messages().size(), 1U);
  }
  EXPECT_THAT(store->Next(Batch(1), Soon()), HasCode(Code::kConflict));
  ASSERT_OK(claims[0]->Settle(All(*claims[0], Kind::kDelivered), Soon()));
  claims.erase(claims.begin());
  EXPECT_OK(store->Next(Batch(1), Soon()));
}

TEST_F(TransactionClaimTest, TurnsMessagesDeadWhoseAttemptsAreUsedUp) {
  Insert(3);
  sql_->Run("UPDATE orders_outbox SET attempts = 5, last_error = 'timed out' WHERE seq = 2");
  const auto store = OpenTransactions();
  ClaimRequest request = Batch(10);
  request.attempts_max = 5;
  const auto first = Next(*store, request);
  ASSERT_EQ(first->exhausted().size(), 1U);
  EXPECT_EQ(first->exhausted()[0].seq, 2);
  EXPECT_EQ(Value("SELECT status FROM orders_outbox WHERE seq = 2"), "dead");
  const auto second = Next(*store, request);
  EXPECT_EQ(first->messages().size() + second->messages().size(), 2U);
  EXPECT_TRUE(second->exhausted().empty());
}

}  // namespace
}  // namespace outbox::store::postgres
