#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/postgres/postgres_fixture.h"

namespace outbox::store::postgres {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class LeaderTest : public PostgresTest {
 protected:
  static bool Leads(RelayStore& store) {
    const auto lead = store.TryLead(Soon());
    EXPECT_OK(lead);
    return lead.ok() && *lead;
  }
  // So long that nothing runs out by itself while a test runs.
  std::unique_ptr<RelayStore> Open(const std::string& relay_id) {
    return OpenRelay({.relay_id = relay_id, .lease = 1h});
  }
  // Sessions that are marked as a leader's.
  std::string Marks() {
    return Value(
        "SELECT count(*) FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database"
        " WHERE locktype = 'advisory' AND granted AND datname = current_database()");
  }
  // Ends the leader's session that runs claims (true) or the one that settles (false), as told by
  // the order in which a new leader opens them.
  void Terminate(bool claims) {
    sql_->Run(base::StrCat(
        "SELECT pg_terminate_backend(pid) FROM (SELECT a.pid FROM pg_stat_activity AS a"
        " JOIN pg_locks AS l ON l.pid = a.pid AND l.locktype = 'advisory' AND l.granted"
        " WHERE a.datname = current_database() ORDER BY a.backend_start ",
        claims ? "ASC" : "DESC", " LIMIT 1) AS one"));
  }
  void LetTheLeaseRunOut() {
    sql_->Run("UPDATE outbox.leader SET ends_at = now() - interval '1 ms'");
  }
};

TEST_F(LeaderTest, OneRelayLeadsUntilItLetsGo) {
  const auto one = Open("one");
  const auto two = Open("two");
  EXPECT_TRUE(Leads(*one));
  EXPECT_FALSE(Leads(*two));
  EXPECT_TRUE(Leads(*one)) << "confirming keeps it";
  EXPECT_EQ(Marks(), "2") << "a standby marks nothing";
  one->StopLeading();
  EXPECT_EQ(Marks(), "0");
  EXPECT_TRUE(Leads(*two));
  EXPECT_FALSE(Leads(*one));
}

TEST_F(LeaderTest, LeadsForTheLeaseCountedFromBeforeItAsked) {
  const auto one = Open("one");
  const auto before = std::chrono::steady_clock::now();
  const auto lead = one->TryLead(Soon());
  ASSERT_OK(lead);
  ASSERT_TRUE(*lead);
  EXPECT_GE(**lead, before + 1h);
  EXPECT_LE(**lead, std::chrono::steady_clock::now() + 1h);
  EXPECT_EQ(Value("SELECT ends_at - renewed_at FROM outbox.leader"), "01:00:00");
}

TEST_F(LeaderTest, ASuccessorTakesOverAtOnceWhenTheLeaderDies) {
  auto one = Open("one");
  const auto two = Open("two");
  ASSERT_TRUE(Leads(*one));
  one.reset();
  EXPECT_TRUE(Eventually([&] { return Leads(*two); }));
}

TEST_F(LeaderTest, ASuccessorTakesOverWhenTheLeaseHasRunOutAlthoughTheSessionsStand) {
  const auto one = Open("one");
  const auto two = Open("two");
  ASSERT_TRUE(Leads(*one));
  LetTheLeaseRunOut();
  EXPECT_TRUE(Leads(*two));
  EXPECT_EQ(Value("SELECT token LIKE 'two/%' FROM outbox.leader"), "t");
  one->StopLeading();
  EXPECT_TRUE(Leads(*two));
  EXPECT_EQ(Value("SELECT token LIKE 'two/%' FROM outbox.leader"), "t")
      << "one that woke up lets go of nothing that is not its own";
}

TEST_F(LeaderTest, OneThatWokeUpLearnsThatAnotherLeads) {
  const auto one = OpenRelay({.relay_id = "one", .lease = 1ms});
  const auto two = Open("two");
  ASSERT_OK(one->TryLead(Soon()));
  LetTheLeaseRunOut();
  ASSERT_TRUE(Leads(*two));
  EXPECT_FALSE(Leads(*one));
  EXPECT_EQ(Marks(), "2") << "only the leader's";
}

TEST_F(LeaderTest, ClaimsNothingOnceItsLeadHasEnded) {
  Insert(1);
  const auto one = OpenRelay({.relay_id = "one", .lease = 1ms});
  const auto lead = one->TryLead(Soon());
  ASSERT_OK(lead);
  ASSERT_TRUE(*lead);
  ASSERT_TRUE(Eventually([&] { return std::chrono::steady_clock::now() >= **lead; }));
  EXPECT_THAT(one->Next(Batch(1), Soon()), HasCode(Code::kConflict));
  one->StopLeading();
  EXPECT_EQ(Next(*one, Batch(1))->size(), 1U) << "what never led, or let go, is not concerned";
}

TEST_F(LeaderTest, LosingOneSessionOfTwoLosesNothing) {
  const auto one = Open("one");
  const auto two = Open("two");
  ASSERT_TRUE(Leads(*one));
  for (const bool claims : {true, false}) {
    Terminate(claims);
    ASSERT_TRUE(Eventually([&] { return Marks() == "1"; }));
    EXPECT_FALSE(Leads(*two)) << "the first may still be publishing";
    EXPECT_TRUE(Eventually([&] { return Leads(*one) && Marks() == "2"; }));
  }
  EXPECT_FALSE(Leads(*two));
}

TEST_F(LeaderTest, SessionsThatEndedWithTheServerFreeNothingBeforeTheLeaseDoes) {
  auto one = Open("one");
  const auto two = Open("two");
  ASSERT_TRUE(Leads(*one));
  one.reset();
  sql_->Run("UPDATE outbox.leader SET renewed_at = pg_postmaster_start_time() - interval '1 s'");
  ASSERT_TRUE(Eventually([&] { return Marks() == "0"; }));
  EXPECT_FALSE(Leads(*two)) << "its process may still be publishing";
  LetTheLeaseRunOut();
  EXPECT_TRUE(Leads(*two));
}

TEST_F(LeaderTest, AProducerCanNeitherTakeTheLeadNorHoldItBeyondTheLease) {
  PlainConnection producer(url_);
  producer.Run("SET ROLE outbox_producer");
  for (const char* right : {"SELECT", "INSERT", "UPDATE", "DELETE"}) {
    EXPECT_EQ(
        producer.Run(base::StrCat("SELECT has_table_privilege('outbox.leader', '", right, "')")),
        "f")
        << right;
  }
  auto one = Open("one");
  const auto two = Open("two");
  ASSERT_TRUE(Leads(*one));
  // The worst it can do: hold the mark that it sees in pg_locks.
  producer.Run(
      "SELECT pg_advisory_lock_shared((classid::bigint << 32) | objid::bigint) FROM pg_locks"
      " WHERE locktype = 'advisory' AND database ="
      " (SELECT oid FROM pg_database WHERE datname = current_database()) LIMIT 1");
  EXPECT_TRUE(Leads(*one));
  one.reset();
  ASSERT_TRUE(Eventually([&] { return Marks() == "1"; }));
  LetTheLeaseRunOut();
  EXPECT_TRUE(Leads(*two));
}

TEST_F(LeaderTest, ConfirmingSendsNoQuery) {
  const auto one = Open("one");
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
  const auto one = Open("one");
  auto other = backend_->OpenRelay({.table = "other_outbox", .relay_id = "two"}, Soon());
  ASSERT_OK(other);
  EXPECT_TRUE(Leads(*one));
  EXPECT_TRUE(Leads(**other));
}

TEST_F(LeaderTest, WithoutItsTableItSaysWhatToDo) {
  sql_->Run("DROP TABLE outbox.leader");
  const auto one = Open("one");
  const auto lead = one->TryLead(Soon());
  EXPECT_THAT(lead, HasCode(Code::kSchema));
  EXPECT_THAT(lead.error().hint(), HasSubstr("migrate up"));
}

}  // namespace
}  // namespace outbox::store::postgres
