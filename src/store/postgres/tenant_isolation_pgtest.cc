// Tenant isolation: what the server itself shows and hides, to roles that are no superusers (whom
// row level security does not bind).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "message/routes.h"
#include "sql/postgres.h"
#include "store/postgres/postgres_fixture.h"
#include "store/postgres/statement.h"
#include "tests/support/process.h"

namespace outbox::store::postgres {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// A database that belongs to a plain role, which made the table and does all the work.
class IsolationTest : public PostgresTest {
 protected:
  static constexpr const char* kMine = "0190b5c0-0000-7000-8000-00000000000a";
  static constexpr const char* kTheirs = "0190b5c0-0000-7000-8000-00000000000b";

  void SetUp() override {
    PostgresTest::SetUp();
    if (backend_ == nullptr) return;
    auto migrator = backend_->OpenMigrator(Soon());
    ASSERT_OK(migrator);
    ASSERT_OK((*migrator)->Down({.table = kTable}, Soon()));
    owner_ = NewRole("owner");
    sql_->Run("ALTER DATABASE " + database_ + " OWNER TO " + owner_);
    backend_ = Open(UrlOf(owner_));
    Migrate({.table = kTable, .tenant_isolation = true});
    work_ = std::make_unique<PlainConnection>(UrlOf(owner_));
    mine_ = Enqueue(kMine);
    theirs_ = Enqueue(kTheirs);
    Enqueue(nullptr);
  }

  void TearDown() override {
    work_.reset();
    PostgresTest::TearDown();
    if (server_.empty()) return;
    PlainConnection server(server_);
    for (const std::string& role : roles_) server.Run("DROP ROLE " + role);
  }

  std::string NewRole(const std::string& name) {
    roles_.push_back(name + "_" + database_);
    sql_->Run("CREATE ROLE " + roles_.back() + " LOGIN");
    return roles_.back();
  }
  std::string UrlOf(const std::string& role) const {
    return base::StrCat("postgres://", role, url_.substr(url_.find('@')));
  }
  Uuid Enqueue(const char* tenant) {
    const std::string id =
        work_->Run(base::StrCat("SELECT id FROM outbox.enqueue('orders_outbox', "
                                "'orders.order.created.v1', '{}', tenant_id => ",
                                tenant == nullptr ? "NULL" : base::StrCat("'", tenant, "'"), ")"));
    return *Uuid::Parse(id);
  }
  static Scope Of(const char* tenant) { return Scope::Tenant(*Uuid::Parse(tenant)); }
  static void Name(PlainConnection& connection, const char* tenant) {
    connection.Run(base::StrCat("SELECT set_config('outbox.tenant', '", tenant, "', true)"));
  }
  static message::Routes ToTwo() {
    return message::Routes({{.topics = "#", .destinations = {"rabbit", "hook"}}});
  }
  void Split() {
    auto splitter = backend_->OpenSplit({.table = kTable}, Soon());
    ASSERT_OK(splitter);
    EXPECT_EQ((*splitter)->Split(ToTwo(), {.limit = 100}, Soon())->messages, 3U);
  }

  std::string owner_;
  std::vector<std::string> roles_;
  std::unique_ptr<PlainConnection> work_;
  Uuid mine_;
  Uuid theirs_;
};

TEST_F(IsolationTest, AStatementWithoutATenantInItSeesOnlyTheScope) {
  Split();
  work_->Run("BEGIN");
  Name(*work_, kMine);
  EXPECT_EQ(work_->Run("SELECT string_agg(id::text, ',') FROM orders_outbox"), mine_.ToString());
  EXPECT_EQ(work_->Run("SELECT count(*) FROM orders_outbox_delivery"), "2");
  EXPECT_EQ(work_->Table("UPDATE orders_outbox SET attempts = 7 RETURNING tenant_id"),
            base::StrCat(kMine, "\n"));
  EXPECT_EQ(work_->Table("UPDATE orders_outbox_delivery SET attempts = 7 RETURNING id"),
            base::StrCat(mine_.ToString(), "\n", mine_.ToString(), "\n"));
  EXPECT_EQ(work_->Run("SELECT count(*) FROM orders_outbox WHERE tenant_id = '" +
                       std::string(kTheirs) + "'"),
            "0");
  EXPECT_THAT(work_->Failure(base::StrCat("UPDATE orders_outbox SET tenant_id = '", kTheirs, "'")),
              StartsWith("42501"));
  work_->Run("ROLLBACK");
  // The scope ended with its transaction, and so did the view of this session.
  EXPECT_EQ(work_->Run("SELECT count(*) FROM orders_outbox"), "3");
  EXPECT_EQ(work_->Run("SELECT count(*) FROM orders_outbox_delivery"), "6");
}

TEST_F(IsolationTest, AttemptsBelongToWhomTheirMessageBelongsTo) {
  {
    const auto relay = OpenRelay({.attempt_history = AttemptHistory::kAll});
    const auto claim = Next(*relay, Batch(10));
    ASSERT_OK(claim->Settle(All(*claim, Outcome::Kind::kDead), Soon()));
  }
  EXPECT_EQ(work_->Run("SELECT count(*) FROM orders_outbox_attempt"), "3");
  work_->Run("BEGIN");
  Name(*work_, kMine);
  EXPECT_EQ(work_->Run("SELECT string_agg(id::text, ',') FROM orders_outbox_attempt"),
            mine_.ToString());
  EXPECT_EQ(work_->Table("DELETE FROM orders_outbox_attempt RETURNING id"),
            mine_.ToString() + "\n");
  work_->Run("ROLLBACK");
  const auto inspect = backend_->OpenInspect(kTable, Soon()).value();
  EXPECT_THAT(*inspect->Attempts(Of(kMine), mine_, Soon()), SizeIs(1));
  EXPECT_THAT(*inspect->Attempts(Of(kMine), theirs_, Soon()), IsEmpty());
  EXPECT_EQ(inspect->DeleteOne(Of(kMine), mine_, nullptr, Soon())->outcome,
            RepairResult::Outcome::kDone);
  EXPECT_EQ(work_->Run("SELECT count(*) FROM orders_outbox_attempt"), "2");
}

TEST_F(IsolationTest, AnUpgradeIsolatesTheTablesItAdds) {
  work_->Run("DROP TABLE orders_outbox_attempt");
  for (const char* table : {"orders_outbox", "orders_outbox_delivery"}) {
    work_->Run(base::StrCat("ALTER TABLE ", table, " DROP COLUMN in_doubt"));
  }
  work_->Run("DELETE FROM outbox.migration WHERE number >= 4");
  Migrate({.table = kTable});
  EXPECT_EQ(work_->Run("SELECT relforcerowsecurity FROM pg_class"
                       " WHERE relname = 'orders_outbox_attempt'"),
            "t");
  EXPECT_EQ(work_->Run("SELECT count(*) FROM pg_policies"
                       " WHERE tablename = 'orders_outbox_attempt'"),
            "2");
}

TEST_F(IsolationTest, WithoutIsolationTheSameStatementSeesEverything) {
  // The control: it is the policy that hides rows.
  Migrate({.table = kTable, .tenant_isolation = false});
  work_->Run("BEGIN");
  Name(*work_, kMine);
  EXPECT_EQ(work_->Run("SELECT count(*) FROM orders_outbox"), "3");
  work_->Run("ROLLBACK");
}

TEST_F(IsolationTest, TheStoreSetsTheScopeOfItsTransaction) {
  // A view in the table's place tells which tenant each transaction has named.
  const auto inspect = backend_->OpenInspect(kTable, Soon()).value();
  work_->Run("ALTER TABLE orders_outbox RENAME TO real_outbox");
  work_->Run(
      "CREATE VIEW orders_outbox WITH (security_invoker = true) AS SELECT id, seq, namespace, "
      "topic,"
      " event_type, event_version, aggregate_type, aggregate_id, key, tenant_id, dedupe_key, "
      "payload,"
      " headers, attempts, created_at, available_at, status, locked_by, locked_until,"
      " 'scope ' || current_setting('outbox.tenant', true) AS last_error, updated_at, processed_at"
      " FROM real_outbox");
  const auto scoped = inspect->Get(Of(kMine), mine_, Soon());
  ASSERT_OK(scoped);
  ASSERT_TRUE(scoped->has_value());
  EXPECT_EQ((*scoped)->last_error, base::StrCat("scope ", kMine));
  const auto unscoped = inspect->Get(Scope::All(), mine_, Soon());
  ASSERT_OK(unscoped);
  ASSERT_TRUE(unscoped->has_value());
  EXPECT_EQ((*unscoped)->last_error, "scope ") << "nothing is left over";
}

TEST_F(IsolationTest, TheStoreServesScopesAndOperators) {
  const auto inspect = backend_->OpenInspect(kTable, Soon()).value();
  const auto count = [&](const Scope& scope) {
    return inspect->List(scope, {}, Soon()).value().rows.size();
  };
  EXPECT_EQ(count(Of(kMine)), 1U);
  EXPECT_EQ(count(Scope::All()), 3U);
  EXPECT_EQ(count(Of(kTheirs)), 1U);
  EXPECT_FALSE(inspect->Get(Of(kMine), theirs_, Soon()).value().has_value());
  EXPECT_EQ(inspect->DeleteOne(Of(kMine), theirs_, nullptr, Soon()).value().outcome,
            RepairResult::Outcome::kNotFound);
  EXPECT_EQ(inspect->DeleteOne(Of(kMine), mine_, nullptr, Soon()).value().outcome,
            RepairResult::Outcome::kDone);
  EXPECT_EQ(inspect->Stats(Scope::All(), true, Soon()).value().pending, 2);
}

TEST_F(IsolationTest, RelaysSplittersAndCleanersGoOnWorking) {
  for (const ClaimMode mode : {ClaimMode::kLease, ClaimMode::kTransaction}) {
    const auto relay = OpenRelay({.claim_mode = mode});
    const auto claim = Next(*relay, Batch(1));
    ASSERT_THAT(claim->messages(), SizeIs(1));
    ASSERT_OK(claim->Settle(All(*claim, Outcome::Kind::kReleased), Soon()));
  }
  Split();
  for (const char* destination : {"rabbit", "hook"}) {
    const auto relay = OpenRelay({.destination = destination});
    const auto claim = Next(*relay, Batch(10));
    ASSERT_THAT(claim->messages(), SizeIs(3));
    EXPECT_THAT(claim->Settle(All(*claim, Outcome::Kind::kDelivered), Soon()).value().lost,
                IsEmpty());
  }
  EXPECT_EQ(work_->Run("SELECT count(*) FROM orders_outbox WHERE status = 'delivered'"), "3");
  const auto clean = backend_->OpenClean(kTable, Soon()).value();
  EXPECT_EQ(*clean->PurgeDelivered(std::chrono::milliseconds(0), 100, Soon()), 3U);
  EXPECT_EQ(work_->Run("SELECT count(*) FROM orders_outbox_delivery"), "0");
}

TEST_F(IsolationTest, ProducersAndRelaysNeedNoMoreThanTheirRoles) {
  const std::string producer = NewRole("producer");
  const std::string relay = NewRole("relay");
  work_->Run("GRANT CONNECT ON DATABASE " + database_ + " TO " + producer);
  sql_->Run("GRANT outbox_producer TO " + producer);
  sql_->Run("GRANT outbox_relay TO " + relay);
  PlainConnection shop(UrlOf(producer));
  const std::string enqueue = base::StrCat(
      "SELECT already_enqueued FROM outbox.enqueue('orders_outbox', 'orders.order.created.v1', "
      "'{}',"
      " tenant_id => '",
      kMine, "', dedupe_key => '", kMine, "/1')");
  EXPECT_EQ(shop.Run(enqueue), "f");
  EXPECT_EQ(shop.Run(enqueue), "t") << "the first message is found";
  const auto backend = Open(UrlOf(relay));
  const auto store = backend->OpenRelay({.table = kTable, .relay_id = "r"}, Soon());
  ASSERT_OK(store);
  EXPECT_THAT(Next(**store, Batch(10))->messages(), SizeIs(4));
  shop.Run("SELECT outbox.enqueue('orders_outbox', 'orders.order.created.v1', '{}')");
  const auto noting = backend->OpenRelay(
      {.table = kTable, .relay_id = "n", .attempt_history = AttemptHistory::kAll}, Soon());
  ASSERT_OK(noting);
  const auto noted = Next(**noting, Batch(10));
  EXPECT_OK(noted->Settle(All(*noted, Outcome::Kind::kDelivered), Soon()));
  EXPECT_EQ(work_->Run("SELECT count(*) FROM orders_outbox_attempt"), "1");
  shop.Run("BEGIN");
  Name(shop, kMine);
  EXPECT_THAT(shop.Failure("SELECT outbox.enqueue('orders_outbox', 'orders.order.created.v1', '{}',"
                           " tenant_id => '" +
                           std::string(kTheirs) + "')"),
              StartsWith("42501"))
      << "a producer that names its tenant is held to it";
}

TEST_F(IsolationTest, AnybodyElseSeesOnlyTheTenantItNames) {
  const std::string guest = NewRole("guest");
  work_->Run("GRANT SELECT ON orders_outbox TO " + guest);
  PlainConnection connection(UrlOf(guest));
  EXPECT_EQ(connection.Run("SELECT count(*) FROM orders_outbox"), "0");
  connection.Run("BEGIN");
  Name(connection, kTheirs);
  EXPECT_EQ(connection.Run("SELECT string_agg(id::text, ',') FROM orders_outbox"),
            theirs_.ToString());
  connection.Run("COMMIT");
  EXPECT_EQ(connection.Run("SELECT count(*) FROM orders_outbox"), "0");
}

TEST_F(IsolationTest, ARoleFromWhichRowsAreHiddenIsRefusedWithTheRemedy) {
  const std::string guest = NewRole("guest");
  work_->Run("GRANT USAGE ON SCHEMA outbox TO " + guest);
  work_->Run("GRANT SELECT ON outbox.migration TO " + guest);
  for (const char* table : {"orders_outbox", "orders_outbox_delivery", "orders_outbox_attempt"}) {
    work_->Run(base::StrCat("GRANT ALL ON ", table, " TO ", guest));
  }
  const auto backend = Open(UrlOf(guest));
  const auto expect_hidden = [](const Status& status) {
    EXPECT_THAT(status, HasCode(Code::kPermission));
    EXPECT_THAT(status.hint(), HasSubstr("GRANT outbox_relay"));
  };
  expect_hidden(backend->OpenRelay({.table = kTable, .relay_id = "r"}, Soon()).error());
  expect_hidden(backend->OpenSplit({.table = kTable}, Soon()).error());
  expect_hidden(backend->OpenClean(kTable, Soon()).error());
  const auto inspect = backend->OpenInspect(kTable, Soon());
  ASSERT_OK(inspect);
  expect_hidden((*inspect)->Stats(Scope::All(), false, Soon()).error());
  expect_hidden((*inspect)->List(Scope::All(), {}, Soon()).error());
  const Audit audit{.actor = "otto", .request_id = {}, .filter = "{}", .matched = 1};
  expect_hidden((*inspect)->DeleteOne(Scope::All(), mine_, &audit, Soon()).error());
  EXPECT_EQ((*inspect)->Stats(Of(kMine), false, Soon())->pending, 1) << "it names a tenant";

  // A policy of one's own lets it in as well.
  work_->Run("CREATE POLICY guests ON orders_outbox TO " + guest + " USING (true)");
  EXPECT_OK(backend->OpenRelay({.table = kTable, .relay_id = "r"}, Soon()));
  work_->Run("DROP POLICY guests ON orders_outbox");
  sql_->Run("GRANT outbox_relay TO " + guest);
  EXPECT_OK(backend->OpenRelay({.table = kTable, .relay_id = "r"}, Soon()));
}

TEST_F(IsolationTest, ClaimsAndSettlesStillGoByIndexAndCtid) {
  const auto table = message::TableName::Parse(kTable, "public").value();
  const auto plan = [&](std::string_view query, const std::string& arguments) {
    PlainConnection connection(UrlOf(owner_));
    connection.Run(std::string(sql::postgres::kPinPlans));
    connection.Run("PREPARE s AS " + Statement(table, query).text);
    return connection.Table("EXPLAIN (COSTS OFF) EXECUTE s (" + arguments + ")");
  };
  const std::string claim =
      plan(sql::postgres::kClaimLease,
           "'t', 60000, '-infinity', 0, 100, 5, NULL, NULL, NULL, false, NULL");
  EXPECT_THAT(claim, HasSubstr("Tid Scan on orders_outbox"));
  EXPECT_THAT(claim, HasSubstr("Index Scan using orders_outbox_claim"));
  EXPECT_THAT(claim, HasSubstr("Index Cond"));
  EXPECT_THAT(claim, Not(HasSubstr("Seq Scan")));
  EXPECT_THAT(plan(sql::postgres::kSettleDeliveredKeep, "'{\"(0,1)\"}', '{1}', 't'"),
              HasSubstr("Tid Scan on orders_outbox"));
}

TEST_F(IsolationTest, CanBeSwitchedOffAndIsKeptOtherwise) {
  const auto on = [&] {
    return work_->Table(
        "SELECT relname, relrowsecurity, relforcerowsecurity FROM pg_class"
        " WHERE relname IN ('orders_outbox', 'orders_outbox_attempt', 'orders_outbox_delivery') "
        "ORDER BY 1");
  };
  const std::string isolated =
      "orders_outbox|t|t\norders_outbox_attempt|t|t\norders_outbox_delivery|t|t\n";
  EXPECT_EQ(on(), isolated);
  Migrate({.table = kTable});
  EXPECT_EQ(on(), isolated);
  Migrate({.table = kTable, .tenant_isolation = false});
  EXPECT_EQ(on(), "orders_outbox|f|f\norders_outbox_attempt|f|f\norders_outbox_delivery|f|f\n");
  EXPECT_EQ(work_->Run("SELECT count(*) FROM pg_policies"), "0");
  Migrate({.table = kTable, .tenant_isolation = true});
  EXPECT_EQ(on(), isolated);
  auto migrator = backend_->OpenMigrator(Soon());
  ASSERT_OK(migrator);
  EXPECT_THAT((*migrator)->Down({.table = kTable}, Soon()), HasCode(Code::kConflict));
  ASSERT_OK((*migrator)->Down({.table = kTable, .discard_undelivered = true}, Soon()));
  const auto script = backend_->PrintMigration({.table = kTable, .tenant_isolation = true}, {});
  ASSERT_OK(script);
  const auto psql = ::outbox::testing::Process::Run(
      {"psql", "-q", "-v", "ON_ERROR_STOP=1", UrlOf(owner_)}, {.standard_input = *script});
  ASSERT_EQ(psql.exit_code, 0) << psql.standard_error;
  EXPECT_EQ(on(), isolated);
}

}  // namespace
}  // namespace outbox::store::postgres
