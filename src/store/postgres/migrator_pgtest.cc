#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/text.h"
#include "store/postgres/postgres_fixture.h"
#include "store/postgres/table_check.h"
#include "tests/support/process.h"

namespace outbox::store::postgres {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class MigratorTest : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (backend_ == nullptr) return;
    auto opened = backend_->OpenMigrator(Soon());
    ASSERT_OK(opened);
    migrator_ = std::move(opened).value();
  }
  void TearDown() override {
    migrator_.reset();
    PostgresTest::TearDown();
  }
  // Everything in the database that is not PostgreSQL's own, as pg_dump tells it.
  std::string Schema() {
    const auto dump = ::outbox::testing::Process::Run({"pg_dump", "-s", url_});
    EXPECT_EQ(dump.exit_code, 0) << dump.standard_error;
    std::string text;
    for (const std::string& line : base::Split(dump.standard_output, '\n')) {
      // pg_dump guards against psql's own commands with a random key.
      if (!line.starts_with("\\restrict") && !line.starts_with("\\unrestrict")) text += line + "\n";
    }
    return text;
  }
  ::outbox::testing::Finished Psql(const std::string& script) const {
    return ::outbox::testing::Process::Run({"psql", "-q", "-v", "ON_ERROR_STOP=1", url_},
                                           {.standard_input = script});
  }
  void RunScript(const PrintOptions& print, const MigrateOptions& options = {.table = kTable}) {
    const auto script = backend_->PrintMigration(options, print);
    ASSERT_OK(script);
    const auto psql = Psql(*script);
    EXPECT_EQ(psql.exit_code, 0) << psql.standard_error;
  }
  Result<std::unique_ptr<RelayStore>> OpenStore(const std::string& table) {
    return backend_->OpenRelay({.table = table, .relay_id = "r"}, Soon());
  }

  std::unique_ptr<Migrator> migrator_;
};

TEST_F(MigratorTest, UpTwiceChangesNothingTheSecondTime) {
  const std::string before = Schema();
  const auto again = migrator_->Up({.table = kTable}, Soon());
  ASSERT_OK(again);
  EXPECT_THAT(again->applied, IsEmpty());
  EXPECT_THAT(again->switched, IsEmpty());
  EXPECT_EQ(Schema(), before);
}

TEST_F(MigratorTest, UpAddsSharedTablesThatADatabaseOfBeforeDoesNotHave) {
  sql_->Run("DROP TABLE outbox.leader");
  sql_->Run("COMMENT ON SCHEMA outbox IS 'outboxd shared objects of before'");
  ASSERT_OK(migrator_->Up({.table = kTable}, Soon()));
  EXPECT_EQ(Value("SELECT count(*) FROM outbox.leader"), "0");
  EXPECT_EQ(Value("SELECT has_table_privilege('outbox_relay', 'outbox.leader', 'UPDATE')"), "t");
}

TEST_F(MigratorTest, PausesOfAnOlderVersionAreKept) {
  const std::string before = Schema();
  sql_->Run("ALTER TABLE outbox.pause RENAME TO hold");
  sql_->Run("ALTER TABLE outbox.hold RENAME COLUMN paused_by TO held_by");
  sql_->Run("ALTER TABLE outbox.hold RENAME CONSTRAINT pause_pkey TO hold_pkey");
  sql_->Run(
      "INSERT INTO outbox.hold (table_name, sink, held_by, reason)"
      " VALUES ('public.orders_outbox', '', 'olga', 'repair')");
  sql_->Run("COMMENT ON SCHEMA outbox IS 'outboxd shared objects of before'");
  ASSERT_OK(migrator_->Up({.table = kTable}, Soon()));
  EXPECT_EQ(Value("SELECT paused_by || ': ' || reason FROM outbox.pause"), "olga: repair");
  EXPECT_EQ(Value("SELECT has_table_privilege('outbox_relay', 'outbox.pause', 'DELETE')"), "t");
  EXPECT_EQ(Schema(), before);
}

TEST_F(MigratorTest, ARelayDoesNotRunPastThePausesOfAnOlderVersion) {
  const auto open = [&] {
    return backend_->OpenRelay({.table = kTable, .relay_id = "relay"}, Soon()).error();
  };
  EXPECT_OK(open());
  sql_->Run("ALTER TABLE outbox.pause RENAME TO hold");
  sql_->Run("ALTER TABLE outbox.hold RENAME COLUMN paused_by TO held_by");
  sql_->Run("ALTER TABLE outbox.hold RENAME CONSTRAINT pause_pkey TO hold_pkey");
  sql_->Run(
      "INSERT INTO outbox.hold (table_name, sink, held_by, reason)"
      " VALUES ('public.orders_outbox', '', 'olga', 'repair')");
  sql_->Run("COMMENT ON SCHEMA outbox IS 'outboxd shared objects of before'");
  const Status refused = open();
  EXPECT_EQ(refused.code(), Code::kSchema);
  EXPECT_THAT(refused.message(), HasSubstr("pause"));
  EXPECT_THAT(refused.hint(), HasSubstr("outboxd migrate up --table public.orders_outbox"));
  ASSERT_OK(migrator_->Up({.table = kTable}, Soon()));
  EXPECT_OK(open());
  EXPECT_EQ(Value("SELECT count(*) FROM outbox.pause"), "1");
}

// The older version was run once more, or its table is removed by this one.
TEST_F(MigratorTest, WhatAnOlderVersionCallsAHoldIsNeitherInTheWayNorLeft) {
  const std::string before = Schema();
  const auto hold = [&](const std::string& by) {
    sql_->Run(
        "CREATE TABLE outbox.hold (table_name text, sink text, since timestamptz DEFAULT now(),"
        " held_by text, reason text)");
    sql_->Run("INSERT INTO outbox.hold VALUES ('public.orders_outbox', '', now(), '" + by +
              "', 'repair')");
    sql_->Run("COMMENT ON SCHEMA outbox IS 'outboxd shared objects of before'");
  };
  hold("olga");
  ASSERT_OK(migrator_->Up({.table = kTable}, Soon()));
  hold("otto");
  ASSERT_OK(migrator_->Up({.table = kTable}, Soon()));
  EXPECT_EQ(Value("SELECT string_agg(paused_by, ',') FROM outbox.pause"), "olga");
  EXPECT_EQ(Schema(), before);
  hold("olga");
  ASSERT_OK(migrator_->Down({.table = kTable}, Soon()));
  EXPECT_EQ(Value("SELECT count(*) FROM pg_namespace WHERE nspname = 'outbox'"), "0");
}

TEST_F(MigratorTest, UpDownUpLeavesTheSameSchema) {
  const std::string before = Schema();
  EXPECT_THAT(before, HasSubstr("orders_outbox_claim"));
  const auto down = migrator_->Down({.table = kTable}, Soon());
  ASSERT_OK(down);
  std::vector<int> numbers(static_cast<std::size_t>(LatestVersion()));
  std::iota(numbers.rbegin(), numbers.rend(), 1);
  EXPECT_EQ(*down, numbers);
  EXPECT_EQ(Value("SELECT count(*) FROM pg_namespace WHERE nspname = 'outbox'"), "0");
  EXPECT_EQ(Value("SELECT count(*) FROM pg_class WHERE relname LIKE 'orders_outbox%'"), "0");
  const auto up = migrator_->Up({.table = kTable}, Soon());
  ASSERT_OK(up);
  std::ranges::reverse(numbers);
  EXPECT_EQ(up->applied, numbers);
  EXPECT_THAT(up->switched, IsEmpty());
  EXPECT_EQ(Schema(), before);
}

TEST_F(MigratorTest, PrintedScriptMakesTheSameSchema) {
  const std::string before = Schema();
  const auto script = backend_->PrintMigration({.table = kTable}, {});
  ASSERT_OK(script);
  ASSERT_OK(migrator_->Down({.table = kTable}, Soon()));
  const auto psql = Psql(*script);
  ASSERT_EQ(psql.exit_code, 0) << psql.standard_error;
  EXPECT_EQ(Schema(), before);
  EXPECT_OK(OpenStore(kTable));
}

// From any version to any newer one, and then to the newest.
TEST_F(MigratorTest, PrintedUpgradesMakeExactlyTheVersionsTheyName) {
  const int latest = LatestVersion();
  std::map<int, std::string> schemas{{latest, Schema()}};
  for (int from = 1; from < latest; ++from) {
    for (int to = from + 1; to <= latest; ++to) {
      ASSERT_OK(migrator_->Down({.table = kTable}, Soon()));
      RunScript({.from = 0, .to = from});
      EXPECT_EQ(migrator_->Inspect(kTable, Soon())->version, from);
      EXPECT_EQ(Schema(), schemas.try_emplace(from, Schema()).first->second);
      RunScript({.from = from, .to = to, .transaction = false});
      EXPECT_EQ(migrator_->Inspect(kTable, Soon())->version, to);
      EXPECT_EQ(Schema(), schemas.try_emplace(to, Schema()).first->second) << from << " to " << to;
    }
  }
}

TEST_F(MigratorTest, APrintedUpgradeKeepsTheOptionsOfTheTable) {
  ASSERT_OK(migrator_->Down({.table = kTable}, Soon()));
  RunScript({.from = 0, .to = LatestVersion() - 1},
            {.table = kTable, .topics = TopicRule::kRelaxed, .notify = true});
  // As an older program left it.
  sql_->Run("ALTER TABLE orders_outbox ENABLE ROW LEVEL SECURITY");
  RunScript({.from = LatestVersion() - 1});
  const auto schema = migrator_->Inspect(kTable, Soon());
  ASSERT_OK(schema);
  std::vector<std::string> switches;
  for (const Switch& each : schema->switches) switches.push_back(each.name + "=" + each.value);
  EXPECT_THAT(switches, ElementsAre("topics=relaxed", "notify=on", "tenant_isolation=on"));
  EXPECT_EQ(Value("SELECT relrowsecurity FROM pg_class WHERE relname = 'orders_outbox_attempt'"),
            "t");
}

TEST_F(MigratorTest, APrintedUpgradeRefusesAnotherVersion) {
  const std::string before = Schema();
  const auto script = backend_->PrintMigration({.table = kTable}, {.from = 2, .to = 3});
  ASSERT_OK(script);
  const auto psql = Psql(*script);
  EXPECT_NE(psql.exit_code, 0);
  EXPECT_THAT(psql.standard_error,
              HasSubstr(base::StrCat("public.orders_outbox is of version ", LatestVersion())));
  EXPECT_EQ(Schema(), before);
  EXPECT_THAT(backend_->PrintMigration({.table = kTable, .tenant_isolation = true}, {.to = 2}),
              HasCode(Code::kInvalidArgument));
}

TEST_F(MigratorTest, DownKeepsTheSharedPartsWhileATableIsLeft) {
  Migrate({.table = "sales_outbox"});
  EXPECT_THAT(*migrator_->Tables(Soon()), ElementsAre(kTable, "public.sales_outbox"));
  ASSERT_OK(migrator_->Down({.table = kTable}, Soon()));
  EXPECT_THAT(*migrator_->Tables(Soon()), ElementsAre("public.sales_outbox"));
  sql_->Run("SELECT outbox.enqueue('sales_outbox', 'sales.order.created.v1', '{}')");
}

TEST_F(MigratorTest, DownRefusesToLoseMessages) {
  Insert(1);
  const auto refused = migrator_->Down({.table = kTable}, Soon());
  EXPECT_THAT(refused, HasCode(Code::kConflict));
  sql_->Run("UPDATE orders_outbox SET status = 'dead', available_at = 'infinity'");
  EXPECT_THAT(migrator_->Down({.table = kTable}, Soon()), HasCode(Code::kConflict));
  EXPECT_EQ(Value("SELECT count(*) FROM orders_outbox"), "1");
  sql_->Run("UPDATE orders_outbox SET status = 'delivered', processed_at = now()");
  EXPECT_OK(migrator_->Down({.table = kTable}, Soon()));
}

TEST_F(MigratorTest, DownDiscardsMessagesWhenTold) {
  Insert(1);
  EXPECT_OK(migrator_->Down({.table = kTable, .discard_undelivered = true}, Soon()));
}

TEST_F(MigratorTest, ATableDroppedByHandCanBeMadeAgain) {
  sql_->Run("DROP TABLE orders_outbox");
  EXPECT_OK(migrator_->Up({.table = kTable}, Soon()));
  EXPECT_OK(OpenStore(kTable));
}

TEST_F(MigratorTest, ASchemaThatIsMissingIsToBeMadeFirst) {
  const auto up = migrator_->Up({.table = "nowhere.orders_outbox"}, Soon());
  EXPECT_THAT(up, HasCode(Code::kNotFound));
  EXPECT_THAT(up.error().hint(), HasSubstr("CREATE SCHEMA"));
}

TEST_F(MigratorTest, ATableOfSomebodyElsesIsNeverDropped) {
  for (const std::string other : {"jobs_delivery", "jobs_attempt"}) {
    sql_->Run("CREATE TABLE " + other + " AS SELECT 7 AS theirs");
    const auto up = migrator_->Up({.table = "jobs"}, Soon());
    EXPECT_THAT(up, HasCode(Code::kConflict));
    EXPECT_THAT(up.error().message(), HasSubstr(other));
    EXPECT_THAT(up.error().hint(), HasSubstr("rename"));
    EXPECT_EQ(Value("SELECT theirs FROM " + other), "7");
    EXPECT_EQ(Value("SELECT to_regclass('jobs') IS NULL"), "t");
    sql_->Run("DROP TABLE " + other);
  }
  EXPECT_OK(migrator_->Up({.table = "jobs"}, Soon()));
}

TEST_F(MigratorTest, TwoAtOnceDoTheWorkOnce) {
  ASSERT_OK(migrator_->Down({.table = kTable}, Soon()));
  std::atomic<int> applied = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto backend = Open(url_);
      auto migrator = backend->OpenMigrator(Soon());
      ASSERT_OK(migrator);
      const auto up = (*migrator)->Up({.table = kTable}, Soon());
      ASSERT_OK(up);
      applied += static_cast<int>(up->applied.size());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(applied, LatestVersion());
}

// The tables with a branch in outbox.enqueue and in outbox.enqueue_many.
constexpr const char* kBranches =
    "SELECT string_agg(DISTINCT name[1], ' ' ORDER BY name[1]) FROM pg_proc,"
    " regexp_matches(prosrc, 'INSERT INTO ([a-z_.]+) AS t', 'g') AS name"
    " WHERE pronamespace = 'outbox'::regnamespace AND proname = ";

TEST_F(MigratorTest, EveryTableHasItsBranchAlsoWhenTwoAreMadeAtOnce) {
  std::vector<std::thread> threads;
  for (const std::string table : {"a_outbox", "b_outbox", "c_outbox"}) {
    threads.emplace_back([this, table] {
      const auto backend = Open(url_);
      EXPECT_OK(backend->OpenMigrator(Soon()).value()->Up({.table = table}, Soon()));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const char* function : {"'enqueue'", "'enqueue_many'"}) {
    EXPECT_EQ(Value(std::string(kBranches) + function),
              "public.a_outbox public.b_outbox public.c_outbox public.orders_outbox");
  }
  ASSERT_OK(migrator_->Down({.table = "b_outbox"}, Soon()));
  EXPECT_EQ(Value(std::string(kBranches) + "'enqueue'"),
            "public.a_outbox public.c_outbox public.orders_outbox");
  EXPECT_THAT(sql_->Failure("SELECT outbox.enqueue('b_outbox', 'a.b.c.v1', '{}')"),
              AllOf(HasSubstr("42P01"), HasSubstr("outboxd migrate up --table public.b_outbox")));
  sql_->Run("SELECT outbox.enqueue('c_outbox', 'a.b.c.v1', '{}')");
}

TEST_F(MigratorTest, APrintedScriptForASecondTableMakesTheSameBranches) {
  Migrate({.table = "sales_outbox"});
  const std::string before = Schema();
  ASSERT_OK(migrator_->Down({.table = "sales_outbox"}, Soon()));
  RunScript({}, {.table = "sales_outbox"});
  EXPECT_EQ(Schema(), before);
}

TEST_F(MigratorTest, ATableThatIsUpToDateGetsTheBranchThatItLacks) {
  const std::string before = Schema();
  // As an older program left them.
  sql_->Run(
      "CREATE OR REPLACE FUNCTION outbox.enqueue_many(table_name text, messages jsonb)"
      " RETURNS TABLE (id uuid, seq bigint, already_enqueued boolean) LANGUAGE plpgsql"
      " AS 'BEGIN RAISE ''old''; END'");
  sql_->Run("DROP FUNCTION outbox.write_enqueue()");
  sql_->Run("COMMENT ON SCHEMA outbox IS 'outboxd shared objects of another version'");
  const auto up = migrator_->Up({.table = kTable}, Soon());
  ASSERT_OK(up);
  EXPECT_THAT(up->applied, IsEmpty());
  EXPECT_EQ(Schema(), before);
}

// The functions are their owner's; the table is served without a branch until the owner migrates.
TEST_F(MigratorTest, ARoleThatDoesNotOwnTheFunctionsAddsATable) {
  const std::string role = "module_" + database_;
  sql_->Run("CREATE ROLE " + role + " LOGIN");
  sql_->Run("CREATE SCHEMA module AUTHORIZATION " + role);
  sql_->Run("GRANT USAGE ON SCHEMA outbox TO " + role);
  sql_->Run("GRANT SELECT, INSERT, DELETE ON outbox.migration TO " + role);
  sql_->Run("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA outbox TO " + role);
  const auto theirs = Open(base::StrCat("postgres://", role, url_.substr(url_.find('@'))));
  ASSERT_OK(theirs->OpenMigrator(Soon()).value()->Up({.table = "module.outbox"}, Soon()));
  EXPECT_EQ(Value(std::string(kBranches) + "'enqueue'"), "public.orders_outbox");
  const std::string enqueue = "SELECT outbox.enqueue('module.outbox', 'a.b.c.v1', '{}')";
  sql_->Run(enqueue);
  ASSERT_OK(migrator_->Up({.table = kTable}, Soon()));
  EXPECT_EQ(Value(std::string(kBranches) + "'enqueue'"), "module.outbox public.orders_outbox");
  sql_->Run(enqueue);
  EXPECT_EQ(Value("SELECT count(*) FROM module.outbox"), "2");
  sql_->Run("DROP OWNED BY " + role + " CASCADE");
  sql_->Run("DROP ROLE " + role);
}

TEST_F(MigratorTest, SwitchesTheTopicRuleAndKeepsItOtherwise) {
  const std::string odd = "SELECT outbox.enqueue('orders_outbox', 'Odd Topic', '{}')";
  EXPECT_THAT(sql_->Failure(odd), HasSubstr("topic: 'Odd Topic' does not follow the topic rule"));
  Migrate({.table = kTable, .topics = TopicRule::kRelaxed});
  sql_->Run(odd);
  Migrate({.table = kTable});
  sql_->Run(odd);
  Migrate({.table = kTable, .topics = TopicRule::kStrict});
  EXPECT_THAT(sql_->Failure(odd), HasSubstr("23514"));
  // What was let in before is still delivered.
  const auto store = OpenRelay();
  const auto claim = Next(*store, Batch(10));
  EXPECT_EQ(claim->messages().size(), 2U);
  EXPECT_OK(claim->Settle(All(*claim, Outcome::Kind::kDelivered), Soon()));
}

TEST_F(MigratorTest, TellsMissingForeignOlderAndNewerTablesApart) {
  const auto missing = OpenStore("no_such_outbox");
  EXPECT_THAT(missing, HasCode(Code::kNotFound));
  EXPECT_THAT(missing.error().hint(),
              HasSubstr("outboxd migrate up --table public.no_such_outbox"));

  sql_->Run("CREATE TABLE people (id int)");
  EXPECT_THAT(OpenStore("people"), HasCode(Code::kSchema));
  EXPECT_THAT(migrator_->Up({.table = "people"}, Soon()), HasCode(Code::kSchema));
  EXPECT_THAT(migrator_->Down({.table = "people"}, Soon()), HasCode(Code::kSchema));
  EXPECT_EQ(Value("SELECT count(*) FROM people"), "0");

  sql_->Run("INSERT INTO outbox.migration VALUES ('public.orders_outbox', 99, 'from_the_future')");
  const auto newer = OpenStore(kTable);
  EXPECT_THAT(newer, HasCode(Code::kSchema));
  EXPECT_THAT(newer.error().hint(), HasSubstr("or a newer one"));
  EXPECT_THAT(migrator_->Up({.table = kTable}, Soon()), HasCode(Code::kSchema));
}

TEST_F(MigratorTest, RefusesHostileNames) {
  for (const char* name : {"x\"; DROP TABLE orders_outbox; --", "a.b.c", "Orders", "", "1a"}) {
    EXPECT_THAT(migrator_->Up({.table = name}, Soon()), HasCode(Code::kInvalidArgument)) << name;
  }
}

TEST_F(MigratorTest, ReportsWhatIsApplied) {
  const auto schema = migrator_->Inspect(kTable, Soon());
  ASSERT_OK(schema);
  EXPECT_TRUE(schema->exists);
  EXPECT_EQ(schema->version, schema->version_latest);
  const auto missing = migrator_->Inspect("no_such_outbox", Soon());
  ASSERT_OK(missing);
  EXPECT_FALSE(missing->exists);
  EXPECT_EQ(missing->version, 0);
  ASSERT_EQ(missing->migrations.size(), schema->migrations.size());
  EXPECT_FALSE(missing->migrations[0].applied);
}

TEST_F(MigratorTest, TellsWhichOptionsItSwitched) {
  const auto switched = [&](const MigrateOptions& options) {
    std::string text;
    const auto up = migrator_->Up(options, Soon());
    EXPECT_OK(up);
    for (const Switch& each : up->switched) {
      text += base::StrCat(each.name, "=", each.value, " ");
    }
    return text;
  };
  EXPECT_EQ(switched({.table = kTable, .topics = TopicRule::kRelaxed, .notify = true}),
            "topics=relaxed notify=on ");
  EXPECT_EQ(switched({.table = kTable, .topics = TopicRule::kRelaxed, .notify = true}), "");
  EXPECT_EQ(switched({.table = kTable}), "");
  EXPECT_EQ(switched({.table = kTable, .tenant_isolation = true}), "tenant_isolation=on ");
  EXPECT_EQ(switched({.table = "sales_outbox", .topics = TopicRule::kStrict, .notify = false}), "")
      << "a new table is so anyway";
  EXPECT_EQ(switched({.table = "more_outbox", .topics = TopicRule::kRelaxed}), "topics=relaxed ");
}

TEST_F(MigratorTest, AMigrationThatWaitsForATableLetsProducersThrough) {
  PlainConnection reader(url_);
  reader.Run("BEGIN");
  reader.Run("SELECT count(*) FROM orders_outbox");
  std::atomic<bool> finished = false;
  Result<Migrated> up = Status::Invalid("not run");
  std::thread migration([&] {
    up = migrator_->Up({.table = kTable, .tenant_isolation = true},
                       Deadline::After(std::chrono::minutes(2)));
    finished = true;
  });
  EXPECT_TRUE(Eventually([&] {
    return Value("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'relation'") !=
           "0";
  }));
  Insert(1);
  EXPECT_FALSE(finished) << "the reader is still there";
  reader.Run("COMMIT");
  migration.join();
  ASSERT_OK(up);
  EXPECT_THAT(up->switched, SizeIs(1));
}

TEST_F(MigratorTest, WhoHoldsTheTableIsNamed) {
  PlainConnection reader(url_ + "?application_name=report");
  reader.Run("BEGIN");
  reader.Run("SELECT count(*) FROM orders_outbox");
  const auto up = migrator_->Up({.table = kTable, .tenant_isolation = true},
                                Deadline::After(std::chrono::seconds(6)));
  EXPECT_THAT(up, HasCode(Code::kConflict));
  EXPECT_THAT(
      up.error().message(),
      AllOf(HasSubstr(kTable), HasSubstr(base::StrCat("process ", PQbackendPID(reader.get()),
                                                      " (report), in a transaction"))));
  EXPECT_THAT(up.error().hint(), HasSubstr("pg_terminate_backend"));
  EXPECT_THAT(migrator_->Down({.table = kTable}, Deadline::After(std::chrono::seconds(6))),
              HasCode(Code::kConflict));
  reader.Run("COMMIT");
  EXPECT_OK(migrator_->Up({.table = kTable, .tenant_isolation = true}, Soon()));
}

TEST_F(MigratorTest, TheRecordsOfATableThatIsGoneCanBeForgotten) {
  sql_->Run("CREATE SCHEMA shop");
  Migrate({.table = "shop.orders_outbox"});
  sql_->Run("ALTER SCHEMA shop RENAME TO store");
  const auto gone = OpenStore("shop.orders_outbox");
  EXPECT_THAT(gone, HasCode(Code::kNotFound));
  EXPECT_THAT(gone.error().hint(), AllOf(HasSubstr("migrate down --table shop.orders_outbox"),
                                         Not(HasSubstr("did you mean"))));
  EXPECT_OK(migrator_->Down({.table = "shop.orders_outbox"}, Soon()));
  EXPECT_THAT(*migrator_->Tables(Soon()), ElementsAre(kTable));
}

TEST_F(MigratorTest, AMissingSchemaIsNamedWithTheRemedy) {
  EXPECT_THAT(OpenStore("shop.parcels").error().hint(),
              AllOf(HasSubstr("no schema shop: CREATE SCHEMA shop"),
                    HasSubstr("migrate up --table shop.parcels"), Not(HasSubstr("did you mean"))));
  EXPECT_THAT(
      OpenStore("shop.orders_outbox").error().hint(),
      AllOf(HasSubstr("CREATE SCHEMA shop"), HasSubstr(base::StrCat("or did you mean ", kTable))));
  sql_->Run("CREATE SCHEMA shop");
  EXPECT_THAT(OpenStore("shop.parcels").error().hint(), Not(HasSubstr("CREATE SCHEMA")));
}

TEST_F(MigratorTest, ADatabaseThatDoesNotCheckTextIsRefusedWithTheRemedy) {
  const std::string ascii = database_ + "_ascii";
  sql_->Run("CREATE DATABASE " + ascii + " TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'");
  const std::string url = url_.substr(0, url_.rfind('/') + 1) + ascii;
  const auto up = Open(url)->OpenMigrator(Soon()).value()->Up({.table = kTable}, Soon());
  EXPECT_THAT(up, HasCode(Code::kSchema));
  EXPECT_THAT(up.error().message(), HasSubstr("SQL_ASCII"));
  EXPECT_THAT(up.error().hint(), HasSubstr("ENCODING 'UTF8'"));

  // A table that came there by other ways.
  const auto script = backend_->PrintMigration({.table = kTable}, {}).value();
  PlainConnection(url).Run(script);
  const auto relay = Open(url)->OpenRelay({.table = kTable, .relay_id = "r"}, Soon());
  EXPECT_THAT(relay, HasCode(Code::kSchema));
  EXPECT_THAT(relay.error().hint(), HasSubstr("ENCODING 'UTF8'"));
  EXPECT_THAT(Open(url)->OpenInspect(kTable, Soon()), HasCode(Code::kSchema));
  EXPECT_OK(Open(url)->OpenMigrator(Soon()).value()->Down({.table = kTable}, Soon()));
  sql_->Run("DROP DATABASE " + ascii + " WITH (FORCE)");
}

TEST_F(MigratorTest, ADatabaseWithAnotherEncodingWorksByConversion) {
  const std::string latin = database_ + "_latin";
  sql_->Run("CREATE DATABASE " + latin + " TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'");
  const std::string url = url_.substr(0, url_.rfind('/') + 1) + latin;
  ASSERT_OK(Open(url)->OpenMigrator(Soon()).value()->Up({.table = kTable}, Soon()));
  PlainConnection(url + "?client_encoding=UTF8")
      .Run("SELECT outbox.enqueue('orders_outbox', 'orders.order.created.v1', '\"caf\u00e9\"')");
  const auto relay = Open(url)->OpenRelay({.table = kTable, .relay_id = "r"}, Soon());
  ASSERT_OK(relay);
  const auto claim = Next(**relay, Batch(10));
  ASSERT_EQ(claim->messages().size(), 1U);
  EXPECT_EQ(claim->messages()[0].payload, "\"caf\u00e9\"");
  EXPECT_OK(claim->Settle(All(*claim, Outcome::Kind::kDelivered), Soon()));
  sql_->Run("DROP DATABASE " + latin + " WITH (FORCE)");
}

class RolesTest : public PostgresTest {
 protected:
  // "allowed" or "refused" for one statement run as a role.
  std::string As(const std::string& role, const std::string& statement) {
    PlainConnection connection(url_);
    connection.Run("SET ROLE " + role);
    const std::string failure = connection.Failure(statement);
    if (failure.empty()) return "allowed";
    return failure.starts_with("42501") ? "refused" : failure;
  }
};

TEST_F(RolesTest, EachMayDoItsOwnWorkAndNothingElse) {
  Insert(1);
  sql_->Run("CREATE TABLE business (id int)");
  struct Case {
    std::string statement;
    std::string producer;
    std::string relay;
  };
  const std::vector<Case> cases{
      {"SELECT outbox.enqueue('orders_outbox', 'orders.order.created.v1', '{}', dedupe_key => 'd')",
       "allowed", "refused"},
      {"SELECT outbox.enqueue('orders_outbox', 'orders.order.created.v1', '{}', dedupe_key => 'd')",
       "allowed", "refused"},
      {"SELECT * FROM outbox.enqueue_many('orders_outbox', '[{\"topic\": \"a.b.c.v1\","
       " \"payload\": {}, \"dedupe_key\": \"e\"}]')",
       "allowed", "refused"},
      {"SELECT id, seq FROM orders_outbox", "allowed", "allowed"},
      {"SELECT payload FROM orders_outbox", "refused", "allowed"},
      {"UPDATE orders_outbox SET status = 'pending'", "refused", "allowed"},
      {"DELETE FROM orders_outbox WHERE false", "refused", "allowed"},
      {"INSERT INTO orders_outbox (id, topic, payload) VALUES (gen_random_uuid(), 'a.b.c.v1', "
       "'{}')",
       "allowed", "refused"},
      {"INSERT INTO orders_outbox (id, topic, payload, status) VALUES (gen_random_uuid(),"
       " 'a.b.c.v1', '{}', 'delivered')",
       "refused", "refused"},
      {"INSERT INTO orders_outbox (id, topic, payload, locked_by, locked_until) VALUES"
       " (gen_random_uuid(), 'a.b.c.v1', '{}', 'me', 'infinity')",
       "refused", "refused"},
      {"INSERT INTO orders_outbox (id, topic, payload, attempts, processed_at) VALUES"
       " (gen_random_uuid(), 'a.b.c.v1', '{}', 99, now())",
       "refused", "refused"},
      {"INSERT INTO orders_outbox (id, seq, topic, payload) OVERRIDING SYSTEM VALUE VALUES"
       " (gen_random_uuid(), 1000000, 'a.b.c.v1', '{}')",
       "refused", "refused"},
      {"TRUNCATE orders_outbox", "refused", "refused"},
      {"DROP TABLE orders_outbox", "refused", "refused"},
      {"INSERT INTO outbox.migration VALUES ('x', 1, 'x')", "refused", "refused"},
      {"SELECT * FROM outbox.migration", "allowed", "allowed"},
      {"SELECT * FROM outbox.relay", "refused", "allowed"},
      {"DELETE FROM outbox.relay", "refused", "allowed"},
      {"INSERT INTO outbox.pause (table_name, sink, paused_by, reason) VALUES ('t', '', 'o', '')",
       "refused", "allowed"},
      {"DELETE FROM outbox.pause", "refused", "allowed"},
      {"SELECT * FROM outbox.leader", "refused", "allowed"},
      {"SELECT * FROM outbox.leader FOR UPDATE", "refused", "allowed"},
      {"INSERT INTO outbox.leader (name, token, ends_at) VALUES ('t', 'x', 'infinity')", "refused",
       "allowed"},
      {"UPDATE outbox.leader SET ends_at = 'infinity'", "refused", "allowed"},
      {"DELETE FROM outbox.leader", "refused", "allowed"},
      {"INSERT INTO outbox.audit (actor, action, table_name, filter, matched, changed, request_id)"
       " VALUES ('o', 'retry', 't', '{}', 1, 1, '')",
       "refused", "allowed"},
      {"SELECT * FROM outbox.audit", "refused", "allowed"},
      {"UPDATE outbox.audit SET actor = 'somebody else'", "refused", "refused"},
      {"DELETE FROM outbox.audit", "refused", "refused"},
      {"SELECT outbox.purge_audit('t', 0, 100)", "refused", "allowed"},
      {"SELECT * FROM business", "refused", "refused"},
      {"DELETE FROM business", "refused", "refused"},
  };
  for (const Case& expected : cases) {
    EXPECT_EQ(As("outbox_producer", expected.statement), expected.producer) << expected.statement;
    EXPECT_EQ(As("outbox_relay", expected.statement), expected.relay) << expected.statement;
  }
  EXPECT_EQ(Value("SELECT count(*) FROM outbox.audit"), "1") << "the last month stays";
  sql_->Run("UPDATE outbox.audit SET at = now() - interval '31 days'");
  EXPECT_EQ(As("outbox_relay", "SELECT outbox.purge_audit('t', 0, 100)"), "allowed");
  EXPECT_EQ(Value("SELECT count(*) FROM outbox.audit"), "0");
}

TEST_F(RolesTest, AWiderGrantOfAnEarlierReleaseIsTakenBack) {
  sql_->Run("GRANT INSERT ON orders_outbox TO outbox_producer");
  ASSERT_OK(Open(url_)->OpenMigrator(Soon()).value()->Up({.table = kTable}, Soon()));
  EXPECT_EQ(As("outbox_producer",
               "INSERT INTO orders_outbox (id, topic, payload, status) VALUES (gen_random_uuid(),"
               " 'a.b.c.v1', '{}', 'dead')"),
            "refused");
}

TEST_F(RolesTest, NobodyWritesAPayloadThatARelayCanNotHold) {
  const std::string insert =
      "INSERT INTO orders_outbox (id, topic, payload) SELECT gen_random_uuid(), 'a.b.c.v1',"
      " to_json(repeat('x', ";
  EXPECT_EQ(As("outbox_producer", insert + "16777214))"), "allowed");
  EXPECT_THAT(As("outbox_producer", insert + "16777215))"),
              AllOf(StartsWith("23514"), HasSubstr("payload_has_at_most_16_mib")));
}

TEST_F(RolesTest, ARelayRoleCanRunTheStoreAndAStrangerIsToldWhatToGrant) {
  Insert(2);
  const std::string stranger = "stranger_" + database_;
  sql_->Run("CREATE ROLE " + stranger + " LOGIN");
  const std::string url = base::StrCat("postgres://", stranger, url_.substr(url_.find('@')));
  const auto backend = Open(url);
  const auto refused = backend->OpenRelay({.table = kTable, .relay_id = "r"}, Soon());
  EXPECT_THAT(refused, HasCode(Code::kPermission));
  EXPECT_THAT(refused.error().message(), HasSubstr(kTable));
  EXPECT_THAT(refused.error().hint(), HasSubstr("outbox_relay"));

  sql_->Run("GRANT outbox_relay TO " + stranger);
  const auto allowed = backend->OpenRelay({.table = kTable, .relay_id = "r"}, Soon());
  ASSERT_OK(allowed);
  const auto claim = Next(**allowed, Batch(10));
  EXPECT_OK(claim->Settle(All(*claim, Outcome::Kind::kDelivered), Soon()));
  EXPECT_EQ(Value("SELECT count(*) FROM orders_outbox WHERE status = 'delivered'"), "2");

  const auto up = Open(url)->OpenMigrator(Soon()).value()->Up({.table = "more_outbox"}, Soon());
  EXPECT_THAT(up, HasCode(Code::kPermission));
  EXPECT_THAT(up.error().hint(), AllOf(HasSubstr("as the owner"), Not(HasSubstr("outbox_relay"))));
  sql_->Run("DROP OWNED BY " + stranger);
  sql_->Run("DROP ROLE " + stranger);
}

}  // namespace
}  // namespace outbox::store::postgres
