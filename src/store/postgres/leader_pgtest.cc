#include <gtest/gtest.h>

#include "store/postgres/postgres_fixture.h"

namespace outbox::store::postgres {
namespace {

class LeaderTest : public PostgresTest {
 protected:
  static bool Leads(RelayStore& store) {
    const auto leads = store.TryLead(Soon());
    return leads.ok() && *leads;
  }
  std::string LockCount() {
    return Value(
        "SELECT count(*) FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database"
        " WHERE locktype = 'advisory' AND granted AND datname = current_database()");
  }
  // Ends the session that runs claims (true) or the one that settles (false), as told by the order
  // in which a new leader opens them.
  void Terminate(bool claims) {
    sql_->Run(base::StrCat(
        "SELECT pg_terminate_backend(pid) FROM (SELECT a.pid FROM pg_stat_activity AS a"
        " JOIN pg_locks AS l ON l.pid = a.pid AND l.locktype = 'advisory' AND l.granted"
        " WHERE a.datname = current_database() ORDER BY a.backend_start ",
        claims ? "ASC" : "DESC", " LIMIT 1) AS one"));
  }
};

TEST_F(LeaderTest, OneRelayLeadsUntilItLetsGo) {
  const auto one = OpenRelay({.relay_id = "one"});
  const auto two = OpenRelay({.relay_id = "two"});
  EXPECT_TRUE(Leads(*one));
  EXPECT_FALSE(Leads(*two));
  EXPECT_TRUE(Leads(*one)) << "confirming keeps it";
  EXPECT_EQ(LockCount(), "2");
  one->StopLeading();
  EXPECT_EQ(LockCount(), "0");
  EXPECT_TRUE(Leads(*two));
  EXPECT_FALSE(Leads(*one));
}

TEST_F(LeaderTest, TheSuccessorTakesOverWhenTheLeaderDies) {
  auto one = OpenRelay({.relay_id = "one"});
  const auto two = OpenRelay({.relay_id = "two"});
  ASSERT_TRUE(Leads(*one));
  one.reset();
  EXPECT_TRUE(Eventually([&] { return Leads(*two); }));
}

TEST_F(LeaderTest, ALeaderThatLostItsClaimSessionKeepsItsSuccessorOutUntilItLetsGo) {
  Insert(1);
  const auto one = OpenRelay({.relay_id = "one"});
  const auto two = OpenRelay({.relay_id = "two"});
  ASSERT_TRUE(Leads(*one));
  Terminate(true);
  ASSERT_TRUE(Eventually([&] { return LockCount() == "1"; }));
  EXPECT_FALSE(Leads(*two)) << "the first may still be publishing";
  EXPECT_FALSE(one->Next(Batch(1), Soon()).ok()) << "claims need the lock";
  EXPECT_FALSE(one->Next(Batch(1), Soon()).ok()) << "also after a failure";
  one->StopLeading();
  EXPECT_TRUE(Leads(*two));
  EXPECT_FALSE(Leads(*one));
}

TEST_F(LeaderTest, LeadsAgainAfterLosingEitherSession) {
  const auto one = OpenRelay();
  for (const bool claims : {true, false}) {
    ASSERT_TRUE(Leads(*one));
    Terminate(claims);
    ASSERT_TRUE(Eventually([&] { return LockCount() == "1"; }));
    EXPECT_TRUE(Eventually([&] { return Leads(*one) && LockCount() == "2"; }));
  }
}

TEST_F(LeaderTest, ConfirmingSendsNoQuery) {
  const auto one = OpenRelay();
  ASSERT_TRUE(Leads(*one));
  const auto last_query = [&] {
    return Value(
        "SELECT max(query_start) FROM pg_stat_activity WHERE application_name = 'outboxd'"
        " AND datname = current_database()");
  };
  const std::string before = last_query();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Leads(*one));
  EXPECT_EQ(last_query(), before);
}

TEST_F(LeaderTest, TablesHaveLeadersOfTheirOwn) {
  Migrate({.table = "public.other_outbox"});
  const auto one = OpenRelay();
  auto other = backend_->OpenRelay({.table = "other_outbox", .relay_id = "two"}, Soon());
  ASSERT_OK(other);
  EXPECT_TRUE(Leads(*one));
  EXPECT_TRUE(Leads(**other));
}

}  // namespace
}  // namespace outbox::store::postgres
