#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/text.h"
#include "sql/sqlite.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/migrator.h"
#include "store/sqlite/test_database.h"

namespace outbox::store::sqlite {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Every object of the database as SQL, sorted by name.
std::string Schema(TestDatabase& database) {
  const auto connection = database.Connect();
  auto query = connection->Prepare("SELECT name, sql FROM sqlite_schema ORDER BY name");
  EXPECT_OK(query);
  std::string text;
  while (true) {
    const auto found = query->Step();
    EXPECT_OK(found);
    if (!found.ok() || !*found) return text;
    text += std::string(query->Text(0)) + ": " + std::string(query->Text(1)) + "\n";
  }
}

bool TopicAllowed(TestDatabase& database, const std::string& topic) {
  const auto connection = database.Connect();
  auto query =
      connection->Prepare("INSERT INTO orders_outbox (id, topic, payload) VALUES (?1, ?2, '{}')");
  EXPECT_OK(query);
  const std::string id = Uuid::NewV7().ToString();
  return query->Bind(1, id).Bind(2, topic).Step().ok();
}

TEST(Migrator, UpDownUpLeavesTheSameSchema) {
  TestDatabase database;
  const std::string before = Schema(database);
  const auto migrator = database.migrator();
  ASSERT_OK(migrator->Down({.table = TestDatabase::kTable}, Soon()));
  EXPECT_NE(Schema(database), before);
  ASSERT_OK(migrator->Up({.table = TestDatabase::kTable}, Soon()));
  EXPECT_EQ(Schema(database), before);
}

TEST(Migrator, UpFromManyThreadsAtOnceAppliesEachMigrationOnce) {
  testing::TempFolder folder;
  const auto backend = std::move(OpenSqlite(folder.File("new.db"))).value();
  std::atomic<int> applied = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      const auto migrator = std::move(backend->OpenMigrator(Soon())).value();
      const auto numbers = migrator->Up({.table = "orders_outbox"}, Soon());
      EXPECT_OK(numbers);
      if (numbers.ok()) applied += static_cast<int>(numbers->applied.size());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(applied, sql::sqlite::kMigrations.back().number);
}

TEST(Migrator, ANewFileIsForItsOwnerAlone) {
  testing::TempFolder folder;
  const std::string path = folder.File("new.db");
  const auto connection = Connection::Open(path, OpenMode::kCreate, Soon());
  ASSERT_OK(connection);
  ASSERT_OK((*connection)->Execute("CREATE TABLE t (a)"));
  for (const char* beside : {"", "-wal", "-shm"}) {
    const auto rights = std::filesystem::status(path + beside).permissions();
    EXPECT_EQ(rights, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)
        << path << beside;
  }
}

TEST(Migrator, TwoTablesLiveSideBySide) {
  TestDatabase database;
  const auto migrator = database.migrator();
  ASSERT_OK(migrator->Up({.table = "hrm_outbox"}, Soon()));
  EXPECT_THAT(*migrator->Tables(Soon()), ElementsAre("hrm_outbox", "orders_outbox"));
  ASSERT_OK(migrator->Down({.table = "hrm_outbox"}, Soon()));
  EXPECT_THAT(*migrator->Tables(Soon()), ElementsAre("orders_outbox"));
  EXPECT_OK(database.Enqueue(1));
}

TEST(Migrator, TheTopicRuleIsStrictUntilItIsRelaxed) {
  TestDatabase database;
  const auto migrator = database.migrator();
  for (const char* topic : {"orders.order.created.v1", "a.b.c.v10", "a-1.2.c.v9", "v1.v2.v3.v4"}) {
    EXPECT_TRUE(TopicAllowed(database, topic)) << topic;
  }
  for (const char* topic :
       {"orders", "orders.order.created", "orders.order.created.v0", "orders.order.created.v",
        "orders.order.created.v1x", "orders..created.v1", ".order.created.v1", "a.b.c.d.v1",
        "Orders.order.created.v1", "orders.order.created.1", "a.v1x.c.d1", "orders.order.é.v1",
        "a.b.c.v1.", "a.b.c.v1 "}) {
    EXPECT_FALSE(TopicAllowed(database, topic)) << topic;
  }
  EXPECT_FALSE(TopicAllowed(database, "a.b." + std::string(125, 'c') + ".v1"));

  const MigrateOptions relaxed{.table = TestDatabase::kTable, .topics = TopicRule::kRelaxed};
  const auto up = migrator->Up(relaxed, Soon());
  ASSERT_OK(up);
  ASSERT_EQ(up->switched.size(), 1U);
  EXPECT_EQ(up->switched[0].name, "topics");
  EXPECT_EQ(up->switched[0].value, "relaxed");
  EXPECT_THAT(migrator->Up(relaxed, Soon())->switched, IsEmpty());
  EXPECT_TRUE(TopicAllowed(database, "Anything goes"));
  ASSERT_OK(migrator->Up({.table = TestDatabase::kTable}, Soon()));
  EXPECT_TRUE(TopicAllowed(database, "as it was"));
  const MigrateOptions strict{.table = TestDatabase::kTable, .topics = TopicRule::kStrict};
  ASSERT_OK(migrator->Up(strict, Soon()));
  EXPECT_FALSE(TopicAllowed(database, "Anything goes"));
}

TEST(Migrator, TheTableHasTheLastWordOnTopics) {
  TestDatabase database;
  auto session = std::move(database.backend().OpenSession(Soon())).value();
  ASSERT_OK(session->Begin());
  const auto refused =
      Enqueue(session->executor(), TestDatabase::kTable, {.topic = "loose", .payload = "{}"},
              {.topics = TopicRule::kRelaxed});
  EXPECT_THAT(refused, HasCode(Code::kInvalidArgument));
  EXPECT_THAT(refused.error().message(), HasSubstr("topic"));
  EXPECT_EQ(session->executor().transaction_state(), TransactionState::kOpen);
}

TEST(Migrator, AForeignTableIsLeftAlone) {
  TestDatabase database;
  ASSERT_OK(database.Connect()->Execute("CREATE TABLE customers (id INTEGER)"));
  const auto migrator = database.migrator();
  EXPECT_THAT(migrator->Up({.table = "customers"}, Soon()), HasCode(Code::kSchema));
  EXPECT_THAT(migrator->Down({.table = "customers", .discard_undelivered = true}, Soon()),
              HasCode(Code::kSchema));
  EXPECT_THAT(database.backend().OpenRelay({.table = "customers"}, Soon()), HasCode(Code::kSchema));
  EXPECT_EQ(database.Number("SELECT count(*) FROM customers"), 0);
}

TEST(Migrator, ANewerSchemaIsRefusedWithTheRemedy) {
  TestDatabase database;
  ASSERT_OK(database.Connect()->Execute(
      "INSERT INTO outbox_migration (table_name, number, name) VALUES ('orders_outbox', 99, 'x')"));
  const auto relay = database.TryOpenRelay();
  EXPECT_THAT(relay, HasCode(Code::kSchema));
  EXPECT_THAT(relay.error().message(), HasSubstr("99"));
  EXPECT_THAT(relay.error().hint(), HasSubstr("newer"));
  EXPECT_THAT(database.migrator()->Up({.table = TestDatabase::kTable}, Soon()),
              HasCode(Code::kSchema));
}

TEST(Migrator, TheRecordsOfATableThatIsGoneCanBeForgotten) {
  TestDatabase database;
  ASSERT_OK(database.Connect()->Execute("DROP TABLE orders_outbox"));
  EXPECT_THAT(database.TryOpenRelay().error().hint(),
              HasSubstr("outboxd migrate down --table orders_outbox"));
  ASSERT_OK(database.migrator()->Down({.table = TestDatabase::kTable}, Soon()));
  EXPECT_THAT(*database.migrator()->Tables(Soon()), IsEmpty());
}

TEST(Migrator, ATableDroppedByHandCanBeMadeAgain) {
  TestDatabase database;
  ASSERT_OK(database.Connect()->Execute("DROP TABLE orders_outbox"));
  EXPECT_THAT(database.TryOpenRelay(), HasCode(Code::kNotFound));
  ASSERT_OK(database.migrator()->Up({.table = TestDatabase::kTable}, Soon()));
  EXPECT_OK(database.TryOpenRelay());
}

TEST(Migrator, ATableOfSomebodyElsesIsNeverDropped) {
  TestDatabase database;
  const auto connection = database.Connect();
  for (const std::string other : {"jobs_delivery", "jobs_attempt"}) {
    ASSERT_OK(connection->Execute("CREATE TABLE " + other + " (theirs); INSERT INTO " + other +
                                  " VALUES (1)"));
    const auto up = database.migrator()->Up({.table = "jobs"}, Soon());
    EXPECT_THAT(up, HasCode(Code::kConflict));
    EXPECT_THAT(up.error().message(), HasSubstr(other));
    EXPECT_THAT(up.error().hint(), HasSubstr("rename"));
    EXPECT_OK(connection->Execute("SELECT theirs FROM " + other));
    EXPECT_THAT(connection->Execute("SELECT * FROM jobs"), HasCode(Code::kNotFound));
    ASSERT_OK(connection->Execute("DROP TABLE " + other));
  }
  EXPECT_OK(database.migrator()->Up({.table = "jobs"}, Soon()));
}

TEST(Migrator, ThePrintedScriptMakesTheSameSchema) {
  TestDatabase database;
  const std::string expected = Schema(database);
  const auto script = PrintMigration({.table = TestDatabase::kTable}, {});
  ASSERT_OK(script);
  ASSERT_OK(
      database.Connect()->Execute("DROP TABLE orders_outbox; DROP TABLE orders_outbox_delivery; "
                                  "DROP TABLE orders_outbox_attempt;"
                                  "DROP TABLE outbox_migration"));
  ASSERT_OK(database.Connect()->Execute(*script));
  EXPECT_EQ(Schema(database), expected);
  EXPECT_OK(database.TryOpenRelay());
}

TEST(Migrator, PrintedUpgradesMakeExactlyTheVersionsTheyName) {
  TestDatabase database;
  const std::string expected = Schema(database);
  const auto run = [&](const PrintOptions& print) {
    const auto script = PrintMigration({.table = TestDatabase::kTable}, print);
    ASSERT_OK(script);
    ASSERT_OK(database.Connect()->Execute(*script));
  };
  const int latest = database.migrator()->Inspect(TestDatabase::kTable, Soon())->version_latest;
  for (int step = 1; step < latest; ++step) {
    ASSERT_OK(database.migrator()->Down({.table = TestDatabase::kTable}, Soon()));
    run({.from = 0, .to = step});
    EXPECT_EQ(database.migrator()->Inspect(TestDatabase::kTable, Soon())->version, step);
    run({.from = step});
    EXPECT_EQ(Schema(database), expected) << step;
  }
}

// A pause that was made while its table was called outbox_hold.
class PausesOfBefore : public ::testing::TestWithParam<bool> {};

TEST_P(PausesOfBefore, AreKept) {
  TestDatabase database;
  const std::string before = Schema(database);
  const auto print = [](const PrintOptions& range) {
    return std::move(PrintMigration({.table = TestDatabase::kTable}, range)).value();
  };
  ASSERT_OK(database.migrator()->Down({.table = TestDatabase::kTable}, Soon()));
  ASSERT_OK(database.Connect()->Execute(print({.from = 0, .to = 4})));
  ASSERT_OK(database.Connect()->Execute(
      "DROP TABLE outbox_pause;"
      "CREATE TABLE outbox_hold (table_name TEXT, sink TEXT, since INTEGER, held_by TEXT,"
      " reason TEXT, PRIMARY KEY (table_name, sink));"
      "INSERT INTO outbox_hold VALUES ('orders_outbox', '', 1000, 'olga', 'repair')"));
  const auto control = database.backend().OpenControl();
  EXPECT_EQ(control->Pauses(Soon()).error().code(), Code::kSchema);

  if (GetParam()) {
    ASSERT_OK(database.Connect()->Execute(print({.from = 4})));
  } else {
    ASSERT_OK(database.migrator()->Up({.table = TestDatabase::kTable}, Soon()));
  }
  const auto pauses = control->Pauses(Soon());
  ASSERT_OK(pauses);
  ASSERT_EQ(pauses->size(), 1u);
  EXPECT_EQ((*pauses)[0].by, "olga");
  EXPECT_EQ((*pauses)[0].reason, "repair");
  EXPECT_EQ(Schema(database), before);
}

TEST(Migrator, ARelayDoesNotRunPastThePausesOfAnOlderVersion) {
  TestDatabase database;
  ASSERT_OK(database.TryOpenRelay());
  ASSERT_OK(database.Connect()->Execute(
      "CREATE TABLE outbox_hold (table_name TEXT, sink TEXT, since INTEGER, held_by TEXT,"
      " reason TEXT, PRIMARY KEY (table_name, sink));"
      "INSERT INTO outbox_hold VALUES ('orders_outbox', '', 1000, 'olga', 'repair')"));
  const Status refused = database.TryOpenRelay().error();
  EXPECT_EQ(refused.code(), Code::kSchema);
  EXPECT_THAT(refused.message(), HasSubstr("pause"));
  EXPECT_THAT(refused.hint(), HasSubstr("outboxd migrate up --table orders_outbox"));
  ASSERT_OK(database.migrator()->Up({.table = TestDatabase::kTable}, Soon()));
  EXPECT_OK(database.TryOpenRelay());
  EXPECT_EQ(database.backend().OpenControl()->Pauses(Soon())->size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Migrator, PausesOfBefore, ::testing::Bool(), [](const auto& printed) {
  return printed.param ? "ByAPrintedScript" : "ByUp";
});

TEST(Migrator, APrintedUpgradeRefusesAnotherVersion) {
  TestDatabase database;
  const std::string before = Schema(database);
  for (const int from : {1, 3}) {
    const auto script = PrintMigration({.table = TestDatabase::kTable}, {.from = from});
    ASSERT_OK(script);
    const Status refused = database.Connect()->Execute(*script);
    EXPECT_THAT(refused.message(), HasSubstr(base::StrCat("this script upgrades version ", from,
                                                          " of orders_outbox")));
    EXPECT_EQ(Schema(database), before);
  }
}

TEST(Migrator, HostileAndQualifiedNamesAreRefused) {
  TestDatabase database;
  const auto migrator = database.migrator();
  for (const char* name :
       {"a\"; DROP TABLE orders_outbox; --", "Orders", "temp.orders_outbox", ""}) {
    EXPECT_THAT(migrator->Up({.table = name}, Soon()), HasCode(Code::kInvalidArgument)) << name;
  }
  EXPECT_OK(migrator->Up({.table = "main.orders_outbox"}, Soon()));
  EXPECT_THAT(*migrator->Tables(Soon()), ElementsAre("orders_outbox"));
}

TEST(Migrator, DownOfAMissingTableDoesNothing) {
  TestDatabase database;
  const auto down = database.migrator()->Down({.table = "no_such_outbox"}, Soon());
  ASSERT_OK(down);
  EXPECT_THAT(*down, IsEmpty());
}

TEST(Migrator, RefusesTenantIsolationInsteadOfPretending) {
  TestDatabase database;
  auto migrator = database.backend().OpenMigrator(Soon());
  ASSERT_OK(migrator);
  const auto refused =
      (*migrator)->Up({.table = TestDatabase::kTable, .tenant_isolation = true}, Soon());
  EXPECT_THAT(refused, HasCode(Code::kInvalidArgument));
  EXPECT_OK((*migrator)->Up({.table = TestDatabase::kTable, .tenant_isolation = false}, Soon()));
}

}  // namespace
}  // namespace outbox::store::sqlite
