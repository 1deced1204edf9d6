// outbox.enqueue and outbox.enqueue_many, as any language calls them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/postgres/postgres_fixture.h"

namespace outbox::store::postgres {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class EnqueueFunctionTest : public PostgresTest {
 protected:
  static std::string Call(const std::string& arguments) {
    return "SELECT id, seq, already_enqueued FROM outbox.enqueue('public.orders_outbox', " +
           arguments + ")";
  }
  std::string Rows() { return Value("SELECT count(*) FROM orders_outbox"); }
};

TEST_F(EnqueueFunctionTest, CommitsAndRollsBackWithTheCaller) {
  sql_->Run("BEGIN");
  sql_->Run(Call("'orders.order.created.v1', '{}'"));
  sql_->Run("ROLLBACK");
  EXPECT_EQ(Rows(), "0");
  sql_->Run("BEGIN");
  sql_->Run(Call("topic => 'orders.order.created.v1', payload => '{}'"));
  sql_->Run("COMMIT");
  EXPECT_EQ(Rows(), "1");
}

TEST_F(EnqueueFunctionTest, MakesVersion7Ids) {
  sql_->Run(Call("'orders.order.created.v1', '{}'"));
  EXPECT_EQ(Value("SELECT substr(id::text, 15, 1) FROM orders_outbox"), "7");
  EXPECT_EQ(
      Value("SELECT abs(('x' || lpad(replace(substr(id::text, 1, 13), '-', ''), 16, '0'))::bit(64)"
            "::bigint - extract(epoch FROM created_at) * 1000) < 1000 FROM orders_outbox"),
      "t");
}

TEST_F(EnqueueFunctionTest, ASecondMessageWithTheSameIdentityReturnsTheFirst) {
  const std::string by_key = sql_->Table(Call("'a.b.c.v1', '{}', dedupe_key => 'x'"));
  const std::string first = by_key.substr(0, by_key.rfind('|'));
  EXPECT_EQ(sql_->Table(Call("'a.b.c.v1', '{\"other\": 1}', dedupe_key => 'x'")), first + "|t\n");
  const std::string id = first.substr(0, first.find('|'));
  EXPECT_EQ(sql_->Table(Call("'a.b.d.v1', '{}', id => '" + id + "'")), first + "|t\n");
  EXPECT_EQ(Rows(), "1");
  // The identity is (namespace, topic, dedupe_key).
  sql_->Run(Call("'a.b.c.v2', '{}', dedupe_key => 'x'"));
  sql_->Run(Call("'a.b.c.v1', '{}', dedupe_key => 'x', namespace => 'other'"));
  EXPECT_EQ(Rows(), "3");
}

TEST_F(EnqueueFunctionTest, OfTwoTransactionsThatRaceOneAddsTheRowAndBothGetIt) {
  PlainConnection one(url_);
  PlainConnection two(url_);
  one.Run("BEGIN");
  two.Run("BEGIN");
  const std::string first = one.Table(Call("'a.b.c.v1', '{}', dedupe_key => 'x'"));
  std::string second;
  std::thread waiter([&] { second = two.Table(Call("'a.b.c.v1', '{}', dedupe_key => 'x'")); });
  EXPECT_TRUE(Eventually([&] {
    return Value(
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
               " AND wait_event_type = 'Lock'") == "1";
  }));
  one.Run("COMMIT");
  waiter.join();
  two.Run("COMMIT");
  EXPECT_EQ(second, first.substr(0, first.rfind('|')) + "|t\n");
  EXPECT_EQ(Rows(), "1");
}

TEST_F(EnqueueFunctionTest, RefusesTablesThatAreNotOurs) {
  sql_->Run("CREATE TABLE people (id int)");
  for (const char* name : {"people", "orders_outbox; DROP TABLE orders_outbox", "a.b.c", "",
                           "pg_catalog.pg_class", "public.\"orders_outbox\""}) {
    const std::string failure =
        sql_->Failure(base::StrCat("SELECT outbox.enqueue('", name, "', 'a.b.c.v1', '{}')"));
    EXPECT_THAT(failure, HasSubstr("table_name: ")) << name;
  }
  EXPECT_THAT(sql_->Failure("SELECT outbox.enqueue(NULL, 'a.b.c.v1', '{}')"),
              HasSubstr("table_name"));
  EXPECT_THAT(sql_->Failure("SELECT outbox.enqueue('people', 'a.b.c.v1', '{}')"),
              HasSubstr("outboxd migrate up --table public.people"));
}

TEST_F(EnqueueFunctionTest, ATableThatIsNotThereIsToldWhatIsAndWhatIsMissing) {
  EXPECT_THAT(sql_->Failure("SELECT outbox.enqueue('order_outbox', 'a.b.c.v1', '{}')"),
              AllOf(StartsWith("42P01"), HasSubstr("outbox tables: public.orders_outbox; "),
                    HasSubstr("run: outboxd migrate up --table public.order_outbox"),
                    Not(HasSubstr("no schema"))));
  for (const char* call :
       {"SELECT outbox.enqueue('shop.orders_outbox', 'a.b.c.v1', '{}')",
        "SELECT outbox.enqueue_many('shop.orders_outbox', '[{\"topic\": \"a.b.c.v1\"}]')"}) {
    EXPECT_THAT(sql_->Failure(call),
                AllOf(StartsWith("42P01"), HasSubstr("there is no schema shop: CREATE SCHEMA shop, "
                                                     "then run: outboxd migrate up --table "
                                                     "shop.orders_outbox")));
  }
  sql_->Run("CREATE SCHEMA shop");
  EXPECT_THAT(sql_->Failure("SELECT outbox.enqueue('shop.orders_outbox', 'a.b.c.v1', '{}')"),
              Not(HasSubstr("no schema")));
  sql_->Run("DROP SCHEMA shop");
}

TEST_F(EnqueueFunctionTest, NamesTheFieldThatIsWrong) {
  EXPECT_THAT(sql_->Failure(Call("NULL, '{}'")), AllOf(StartsWith("22023"), HasSubstr("topic:")));
  EXPECT_THAT(sql_->Failure(Call("'a.b.c.v1', NULL")), HasSubstr("payload: is missing"));
  EXPECT_THAT(sql_->Failure(Call("'a.b.c.v1', to_jsonb(repeat('x', 1048575))")),
              AllOf(HasSubstr("payload: has 1048577 bytes"), HasSubstr("enqueue a reference")));
  EXPECT_THAT(sql_->Failure(Call("'a.b.c.v1', '{}', headers => '[1]'")), HasSubstr("headers:"));
  EXPECT_EQ(Rows(), "0");
  sql_->Run(Call("'a.b.c.v1', to_jsonb(repeat('x', 1048574))"));
  EXPECT_EQ(Rows(), "1");
}

TEST_F(EnqueueFunctionTest, NamesTheFieldThatIsWrongAndWhatHelps) {
  struct Case {
    std::string argument;
    std::string field;
  };
  const std::vector<Case> cases{
      {"key => repeat('x', 256)", "key: has 256 bytes"},
      {"namespace => repeat('x', 256)", "namespace: has 256 bytes"},
      {"event_type => repeat('ä', 128)", "event_type: has 256 bytes"},
      {"aggregate_type => repeat('x', 256)", "aggregate_type: has"},
      {"aggregate_id => repeat('x', 256)", "aggregate_id: has"},
      {"dedupe_key => repeat('x', 513)", "dedupe_key: has 513 bytes"},
      {"event_version => 0", "event_version: 0 is below 1"},
      {"id => '00000000-0000-0000-0000-000000000000'", "id: is the nil UUID"},
      {"available_at => 'infinity'", "available_at: is not within"},
      {"available_at => '-infinity'", "available_at: is not within"},
      {"available_at => '10000-01-01 00:00:00+00'", "available_at: is not within"},
      {"headers => '{\"\": 1}'", "headers: a name"},
      {"headers => '{\"a\\r\\nb\": 1}'", "headers: a name"},
      {"headers => jsonb_build_object(chr(127), 1)", "headers: a name"},
      {"headers => jsonb_build_object(repeat('x', 256), 1)", "headers: a name"},
  };
  for (const Case& wrong : cases) {
    EXPECT_THAT(sql_->Failure(Call("'a.b.c.v1', '{}', " + wrong.argument)),
                AllOf(StartsWith("22023"), HasSubstr(wrong.field), HasSubstr(" | ")));
  }
  EXPECT_THAT(
      sql_->Failure("SELECT outbox.enqueue_many('orders_outbox', '[{\"topic\": \"a.b.c.v1\","
                    " \"payload\": 1, \"available_at\": \"infinity\"}]')"),
      AllOf(StartsWith("22023"), HasSubstr("messages[0].available_at:")));
  EXPECT_EQ(Rows(), "0");
  sql_->Run(
      Call("'a.b.c.v1', '{}', key => repeat('x', 255), headers => '{\"é\": \"a\\nb\"}',"
           " available_at => '9999-12-31 23:59:59.999999+00'"));
  sql_->Run(Call("'a.b.c.v1', '{}', headers => 'null', available_at => '0001-01-01 00:00:00+00'"));
  EXPECT_EQ(Rows(), "2");
}

TEST_F(EnqueueFunctionTest, ATenantsDedupeKeyStartsWithItsId) {
  const std::string tenant = "0190b5c0-0000-7000-8000-000000000001";
  EXPECT_THAT(
      sql_->Failure(Call("'a.b.c.v1', '{}', tenant_id => '" + tenant + "', dedupe_key => 'x'")),
      AllOf(HasSubstr("dedupe_key:"), HasSubstr(tenant + "/")));
  EXPECT_EQ(Rows(), "0");
  sql_->Run(
      Call("'a.b.c.v1', '{}', tenant_id => '" + tenant + "', dedupe_key => '" + tenant + "/x'"));
  sql_->Run(Call("'a.b.c.v1', '{}', tenant_id => '" + tenant + "'"));
  EXPECT_EQ(Rows(), "2");
}

// The table itself holds the rules, whoever writes to it: here a role that may insert and no more.
TEST_F(EnqueueFunctionTest, ARowWrittenByHandFollowsTheSameRules) {
  const std::string tenant = "0190b5c0-0000-7000-8000-000000000001";
  const auto insert = [&](const std::string& topic, const std::string& dedupe_key) {
    return "INSERT INTO orders_outbox (id, topic, tenant_id, dedupe_key, payload) VALUES"
           " (gen_random_uuid(), '" +
           topic + "', '" + tenant + "', '" + dedupe_key + "', '{}')";
  };
  const std::string role = Value("SELECT 'writer_' || md5(random()::text)");
  sql_->Run("CREATE ROLE " + role);
  sql_->Run("GRANT INSERT ON orders_outbox TO " + role);
  sql_->Run("SET ROLE " + role);
  EXPECT_THAT(sql_->Failure(insert("a.b.c.v1", "x")),
              AllOf(StartsWith("23514"), HasSubstr("dedupe_key: does not start"),
                    HasSubstr(tenant + "/<your key>")));
  EXPECT_THAT(sql_->Failure(insert("a.b.c", tenant + "/x")),
              AllOf(StartsWith("23514"), HasSubstr("topic: 'a.b.c' does not follow")));
  sql_->Run(insert("a.b.c.v1", tenant + "/x"));
  EXPECT_THAT(sql_->Failure(insert("a.b.c.v1", tenant + "/x")), StartsWith("23505"));
  sql_->Run("RESET ROLE");
  EXPECT_EQ(Rows(), "1");
  sql_->Run("DROP OWNED BY " + role);
  sql_->Run("DROP ROLE " + role);
}

// Functions, operators and types of the same names, which a search_path puts before PostgreSQL's
// own.
TEST_F(EnqueueFunctionTest, ASearchPathOfTheCallersCanNotMisleadIt) {
  sql_->Run("CREATE SCHEMA evil");
  sql_->Run(
      "CREATE FUNCTION evil.gen_random_uuid() RETURNS uuid LANGUAGE sql AS"
      " 'SELECT ''00000000-0000-0000-0000-000000000000''::uuid'");
  sql_->Run("CREATE DOMAIN evil.json AS integer");
  sql_->Run("CREATE DOMAIN evil.text AS integer");
  sql_->Run("CREATE DOMAIN evil.uuid AS integer");
  for (const char* function :
       {"octet_length(pg_catalog.text) RETURNS int", "to_json(jsonb) RETURNS pg_catalog.json",
        "clock_timestamp() RETURNS timestamptz",
        "starts_with(pg_catalog.text, pg_catalog.text) RETURNS boolean",
        "equal(pg_catalog.text, pg_catalog.text) RETURNS boolean",
        "equal(int, int) RETURNS boolean",
        "equal(pg_catalog.uuid, pg_catalog.uuid) RETURNS boolean",
        "equal(jsonb, jsonpath) RETURNS boolean",
        "equal(timestamptz, timestamptz) RETURNS boolean"}) {
    sql_->Run(base::StrCat("CREATE FUNCTION evil.", function,
                           " LANGUAGE plpgsql AS 'BEGIN RAISE ''misled''; END'"));
  }
  for (const char* name : {"=", "<>", "<=", ">=", "<", "~", "!~", "||"}) {
    for (const char* type : {"pg_catalog.text", "int", "pg_catalog.uuid", "timestamptz"}) {
      sql_->Run(base::StrCat("CREATE OPERATOR evil.", name, " (LEFTARG = ", type,
                             ", RIGHTARG = ", type, ", FUNCTION = evil.equal)"));
    }
  }
  sql_->Run(
      "CREATE OPERATOR evil.@@ (LEFTARG = jsonb, RIGHTARG = jsonpath, FUNCTION = evil.equal)");
  PlainConnection caller(url_);
  caller.Run("SET search_path = evil, pg_catalog");
  const std::string tenant = "0190b5c0-0000-7000-8000-000000000001";
  caller.Run(Call("'a.b.c.v1', '{}'"));
  caller.Run(
      Call("'a.b.c.v1', '{}', headers => '{\"a\": 1}', available_at => '2030-01-01 00:00:00Z',"
           " tenant_id => '" +
           tenant + "', dedupe_key => '" + tenant + "/1'"));
  caller.Run(Call("'a.b.c.v1', '{}', id => '0190b5c0-0000-7000-8000-000000000009'"));
  caller.Run(Call("'a.b.c.v1', '{}', id => '0190b5c0-0000-7000-8000-000000000009'"));
  caller.Run(
      "SELECT outbox.enqueue_many('orders_outbox', '[{\"topic\": \"a.b.c.v1\", \"payload\": 1}]')");
  EXPECT_EQ(Rows(), "4");
  EXPECT_EQ(Value("SELECT count(*) FROM public.orders_outbox WHERE id::text LIKE '00000000%'"),
            "0");
}

TEST_F(EnqueueFunctionTest, ATableMadeAnewIsFoundByASessionThatUsedTheOldOne) {
  PlainConnection producer(url_);
  producer.Run(Call("'a.b.c.v1', '{}'"));
  auto migrator = backend_->OpenMigrator(Soon()).value();
  ASSERT_OK(migrator->Down({.table = kTable, .discard_undelivered = true}, Soon()));
  Migrate({.table = kTable});
  producer.Run(Call("'a.b.c.v1', '{}'"));
  EXPECT_EQ(Rows(), "1");
  sql_->Run("ALTER TABLE orders_outbox RENAME TO old_outbox");
  EXPECT_THAT(producer.Failure(Call("'a.b.c.v1', '{}'")), StartsWith("42P01"));
  sql_->Run("ALTER TABLE old_outbox RENAME TO orders_outbox");
  producer.Run(Call("'a.b.c.v1', '{}'"));
  EXPECT_EQ(Rows(), "2");
}

// One that the owner of the functions has not met yet.
TEST_F(EnqueueFunctionTest, ATableWithoutABranchWorksTheSame) {
  sql_->Run("DELETE FROM outbox.migration");
  sql_->Run("SELECT outbox.write_enqueue()");
  EXPECT_THAT(sql_->Failure(Call("'a.b.c.v1', '{}'")), StartsWith("42P01"));
  sql_->Run("INSERT INTO outbox.migration VALUES ('public.orders_outbox', 1, 'by hand')");
  EXPECT_EQ(Value("SELECT count(*) FROM pg_proc WHERE prosrc LIKE '%public.orders_outbox%'"), "0");
  sql_->Run(Call("'a.b.c.v1', '{}', dedupe_key => 'x'"));
  const std::string many =
      "SELECT already_enqueued FROM outbox.enqueue_many('orders_outbox', '["
      "{\"topic\": \"a.b.c.v1\", \"payload\": 1},"
      "{\"topic\": \"a.b.c.v1\", \"payload\": 2, \"dedupe_key\": \"x\"}]')";
  EXPECT_EQ(sql_->Table(many), "f\nt\n");
  EXPECT_THAT(sql_->Failure(Call("NULL, '{}'")), HasSubstr("topic:"));
  sql_->Run("SELECT outbox.write_enqueue()");
  EXPECT_EQ(Value("SELECT count(*) FROM pg_proc WHERE prosrc LIKE '%public.orders_outbox%'"), "2");
  EXPECT_EQ(sql_->Table(many), "f\nt\n");
  EXPECT_EQ(Rows(), "3");
}

TEST_F(EnqueueFunctionTest, ARecordWithAHostileNameGetsNoBranch) {
  sql_->Run(
      "INSERT INTO outbox.migration VALUES"
      " ('public.x}'') THEN RAISE ''misled''; END IF; --', 1, 'by hand')");
  sql_->Run("SELECT outbox.write_enqueue()");
  EXPECT_EQ(Value("SELECT count(*) FROM pg_proc WHERE prosrc LIKE '%misled%'"), "0");
  sql_->Run(Call("'a.b.c.v1', '{}'"));
}

// The rule of the library.
TEST_F(EnqueueFunctionTest, RefusesNumbersBeyondADoubleAndLoneSurrogates) {
  for (const char* bad : {"1e400", "-1e400", "{\"a\": [1e309]}", "1.7976931348623159e308"}) {
    EXPECT_THAT(
        sql_->Failure(Call(base::StrCat("'a.b.c.v1', '", bad, "'"))),
        AllOf(StartsWith("22023"), HasSubstr("payload: has a number"), HasSubstr("1.8e308")))
        << bad;
    EXPECT_THAT(
        sql_->Failure(Call(base::StrCat("'a.b.c.v1', '{}', headers => '{\"h\": ", bad, "}'"))),
        AllOf(StartsWith("22023"), HasSubstr("headers: have a number")))
        << bad;
    EXPECT_THAT(
        sql_->Failure(base::StrCat("SELECT outbox.enqueue_many('orders_outbox', '[{\"topic\":"
                                   " \"a.b.c.v1\", \"payload\": ",
                                   bad, "}]')")),
        AllOf(StartsWith("22023"), HasSubstr("messages[0].payload: has a number")))
        << bad;
  }
  for (const char* bad : {"\"\\ud800\"", "\"\\udc00\"", "{\"\\ud800\": 1}"}) {
    EXPECT_THAT(sql_->Failure(Call(base::StrCat("'a.b.c.v1', '", bad, "'"))), StartsWith("22P02"))
        << bad;
  }
  EXPECT_EQ(Rows(), "0");
  for (const char* good : {"1.7976931348623157e308", "1.7976931348623158e308", "1e-400",
                           "\"\\ud83d\\ude00\"", "\"1e400\""}) {
    sql_->Run(Call(base::StrCat("'a.b.c.v1', '", good, "'")));
  }
  EXPECT_EQ(Rows(), "5");
}

TEST_F(EnqueueFunctionTest, ManyRefusesMembersItDoesNotKnow) {
  const auto many = [&](const std::string& element) {
    return sql_->Failure(
        "SELECT outbox.enqueue_many('orders_outbox', '["
        "{\"topic\": \"a.b.c.v1\", \"payload\": 1}, " +
        element + "]')");
  };
  EXPECT_THAT(
      many("{\"topik\": \"a.b.c.v1\", \"payload\": 1}"),
      AllOf(StartsWith("22023"), HasSubstr("messages[1].topik: is not a field of a message"),
            HasSubstr("the fields are topic, payload, ")));
  EXPECT_THAT(many("{\"topic\": \"a.b.c.v1\", \"payload\": 1, \"delay\": null}"),
              HasSubstr("messages[1].delay: is not a field"));
  for (const char* element : {"1", "null", "\"topic\"", "[\"topic\"]"}) {
    EXPECT_THAT(many(element),
                AllOf(StartsWith("22023"), HasSubstr("messages[1]: is not a JSON object")))
        << element;
  }
  EXPECT_EQ(Rows(), "0");
}

TEST_F(EnqueueFunctionTest, OddButRightMessagesPass) {
  sql_->Run(
      Call("'a.b.c.v1', 'null', namespace => NULL, event_version => NULL, dedupe_key => '',"
           " headers => jsonb_build_object('h', repeat('x', 1000))"));
  sql_->Run(
      "SELECT outbox.enqueue_many('orders_outbox', jsonb_build_array(jsonb_build_object("
      "'topic', 'a.b.c.v1', 'payload', NULL, 'namespace', NULL, 'event_version', NULL,"
      " 'dedupe_key', '', 'id', NULL, 'headers', jsonb_build_object('h', repeat('x', 1000)))))");
  EXPECT_EQ(
      Value("SELECT count(*) FROM orders_outbox WHERE payload::text = 'null' AND namespace = ''"
            " AND event_version = 1 AND dedupe_key IS NULL AND octet_length(headers->>'h') = 1000"),
      "2");
}

TEST_F(EnqueueFunctionTest, ManyReturnsOneRowPerElementInOrder) {
  sql_->Run(Call("'a.b.c.v1', '{}', dedupe_key => 'old'"));
  const std::string many = sql_->Table(
      "SELECT seq, already_enqueued FROM outbox.enqueue_many('orders_outbox', '["
      "{\"topic\": \"a.b.c.v1\", \"payload\": 1},"
      "{\"topic\": \"a.b.c.v1\", \"payload\": 2, \"dedupe_key\": \"old\"},"
      "{\"topic\": \"a.b.c.v1\", \"payload\": 3, \"dedupe_key\": \"new\", \"key\": \"k\"},"
      "{\"topic\": \"a.b.c.v1\", \"payload\": 4, \"dedupe_key\": \"new\"},"
      "{\"topic\": \"a.b.c.v1\", \"payload\": 5, \"id\": \"0190b5c0-0000-7000-8000-000000000009\"},"
      "{\"topic\": \"a.b.c.v1\", \"payload\": 6, \"id\": \"0190b5c0-0000-7000-8000-000000000009\"}"
      "]')");
  const auto seq_of = [&](const std::string& payload) {
    return Value("SELECT seq FROM orders_outbox WHERE payload::text = '" + payload + "'");
  };
  EXPECT_EQ(many, seq_of("1") + "|f\n1|t\n" + seq_of("3") + "|f\n" + seq_of("3") + "|t\n" +
                      seq_of("5") + "|f\n" + seq_of("5") + "|t\n");
  EXPECT_EQ(Rows(), "4");
  EXPECT_EQ(Value("SELECT key FROM orders_outbox WHERE payload::text = '3'"), "k");
}

TEST_F(EnqueueFunctionTest, ManyAddsAllOrNothing) {
  EXPECT_THAT(
      sql_->Failure("SELECT outbox.enqueue_many('orders_outbox', '["
                    "{\"topic\": \"a.b.c.v1\", \"payload\": 1}, {\"topic\": \"a.b.c.v1\"}]')"),
      HasSubstr("messages[1].payload: is missing"));
  EXPECT_THAT(sql_->Failure("SELECT outbox.enqueue_many('orders_outbox', '{}')"),
              HasSubstr("messages: is not a JSON array"));
  EXPECT_EQ(Rows(), "0");
  EXPECT_EQ(sql_->Table("SELECT * FROM outbox.enqueue_many('orders_outbox', '[]')"), "");
}

TEST_F(EnqueueFunctionTest, ManyTakesThousands) {
  EXPECT_EQ(Value("SELECT count(DISTINCT seq) FROM outbox.enqueue_many('orders_outbox', (SELECT"
                  " jsonb_agg(jsonb_build_object('topic', 'a.b.c.v1', 'payload', n))"
                  " FROM generate_series(1, 20000) AS n))"),
            "20000");
  EXPECT_EQ(Value("SELECT bool_and(payload::text = seq::text) FROM orders_outbox"), "t");
}

}  // namespace
}  // namespace outbox::store::postgres
