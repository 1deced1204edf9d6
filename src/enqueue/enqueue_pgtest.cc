#include <libpq-fe.h>

#include <cstdlib>
#include <future>

#include "base/handle.h"
#include "enqueue/enqueue_suite.h"
#include "store/backend.h"
#include "tests/support/postgres.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using std::chrono::seconds;

class PostgresConnection final : public Connection {
 public:
  explicit PostgresConnection(const std::string& url) : connection_(PQconnectdb(url.c_str())) {}

  bool Execute(const std::string& sql) override {
    const ResultHandle result(PQexec(connection_.get(), sql.c_str()));
    return PQresultStatus(result.get()) == PGRES_COMMAND_OK ||
           PQresultStatus(result.get()) == PGRES_TUPLES_OK;
  }
  std::int64_t Number(const std::string& sql) override {
    const ResultHandle result(PQexec(connection_.get(), sql.c_str()));
    return PQntuples(result.get()) == 0 ? -1 : std::atoll(PQgetvalue(result.get(), 0, 0));
  }
  Result<Enqueued> Enqueue(std::string_view table, const NewMessage& message,
                           const EnqueueOptions& options) override {
    return outbox::Enqueue(connection_.get(), table, message, options);
  }
  Result<std::vector<Enqueued>> EnqueueMany(std::string_view table,
                                            std::span<const NewMessage> messages,
                                            const EnqueueOptions& options) override {
    return outbox::EnqueueMany(connection_.get(), table, messages, options);
  }

 private:
  using ResultHandle = base::UniqueHandle<PGresult, PQclear>;
  base::UniqueHandle<PGconn, PQfinish> connection_;
};

// A database of its own on the shared server.
class Postgres {
 public:
  explicit Postgres(std::string options = "") : options_(std::move(options)) {}
  static constexpr const char* kBeginWriting = "BEGIN";
  static constexpr const char* kDisplayName = "public.orders_outbox";

  void SetUp() {
    OUTBOX_REQUIRE_POSTGRES();
    const std::string server = SharedPostgresUrl();
    name_ = "enqueue_" + Uuid::NewV7().ToString().substr(24);
    ASSERT_TRUE(PostgresConnection(server).Execute("CREATE DATABASE " + name_ + options_));
    url_ = server.substr(0, server.rfind('/') + 1) + name_;
    const auto backend = store::OpenBackend(url_);
    ASSERT_OK(backend);
    const auto migrator = (*backend)->OpenMigrator(Deadline::After(seconds(30)));
    ASSERT_OK(migrator);
    ASSERT_OK((*migrator)->Up({.table = std::string(kEnqueueTable)}, Deadline::After(seconds(30))));
    ASSERT_TRUE(Connect()->Execute("CREATE TABLE business (id integer)"));
  }
  ~Postgres() {
    if (url_.empty()) return;
    PostgresConnection(SharedPostgresUrl()).Execute("DROP DATABASE " + name_ + " WITH (FORCE)");
  }

  std::unique_ptr<Connection> Connect() { return std::make_unique<PostgresConnection>(url_); }
  const std::string& url() const { return url_; }

 private:
  std::string options_;
  std::string name_;
  std::string url_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(PostgreSQL, EnqueueSuite, Postgres);

class PostgresEnqueue : public EnqueueSuite<Postgres> {};

TEST_F(PostgresEnqueue, RefusesATransactionThatHasFailed) {
  ASSERT_TRUE(connection_->Execute("BEGIN"));
  ASSERT_FALSE(connection_->Execute("SELECT 1 / 0"));
  const auto result = connection_->Enqueue(kEnqueueTable, AnEvent());
  EXPECT_THAT(result, HasCode(Code::kTransactionAborted));
  EXPECT_FALSE(result.error().hint().empty());
  ASSERT_TRUE(connection_->Execute("ROLLBACK"));
}

// A connection on which the application's own statement is not over yet.
class PostgresBusy : public PostgresEnqueue {
 protected:
  void SetUp() override {
    PostgresEnqueue::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    raw_.reset(PQconnectdb(backend_.url().c_str()));
    ASSERT_EQ(PQstatus(raw_.get()), CONNECTION_OK);
  }
  void ExpectRefusal() {
    const auto result = Enqueue(raw_.get(), kEnqueueTable, AnEvent());
    EXPECT_THAT(result, HasCode(Code::kBusy));
    EXPECT_THAT(result.error().hint(), ::testing::HasSubstr("fetch all its results"));
    EXPECT_EQ(Rows(), 0);
  }
  // The status of each result that is left.
  std::vector<ExecStatusType> Results() {
    std::vector<ExecStatusType> statuses;
    while (PGresult* const result = PQgetResult(raw_.get())) {
      statuses.push_back(PQresultStatus(result));
      PQclear(result);
    }
    return statuses;
  }

  base::UniqueHandle<PGconn, PQfinish> raw_;
};

TEST_F(PostgresBusy, RefusesWhileAQueryIsUnderWay) {
  ASSERT_EQ(PQsendQuery(raw_.get(), "SELECT 1"), 1);
  ExpectRefusal();
  EXPECT_THAT(Results(), ::testing::ElementsAre(PGRES_TUPLES_OK)) << "the application's results";
  EXPECT_THAT(Enqueue(raw_.get(), kEnqueueTable, AnEvent()), HasCode(Code::kNoTransaction));
}

TEST_F(PostgresBusy, LeavesACopyAlone) {
  const auto run = [&](const char* sql) { PQclear(PQexec(raw_.get(), sql)); };
  run("BEGIN");
  run("COPY business FROM STDIN");
  ExpectRefusal();
  ASSERT_EQ(PQputCopyData(raw_.get(), "7\n", 2), 1);
  ASSERT_EQ(PQputCopyEnd(raw_.get(), nullptr), 1);
  EXPECT_THAT(Results(), ::testing::ElementsAre(PGRES_COMMAND_OK));
  EXPECT_OK(Enqueue(raw_.get(), kEnqueueTable, AnEvent()));
  run("COMMIT");
  EXPECT_EQ(connection_->Number("SELECT id FROM business"), 7);
  EXPECT_EQ(Rows(), 1);
}

TEST_F(PostgresBusy, RefusesInPipelineMode) {
  PQclear(PQexec(raw_.get(), "BEGIN"));
  ASSERT_EQ(PQenterPipelineMode(raw_.get()), 1);
  ExpectRefusal();
  ASSERT_EQ(PQexitPipelineMode(raw_.get()), 1);
  EXPECT_OK(Enqueue(raw_.get(), kEnqueueTable, AnEvent()));
}

NewMessage ForeignEvent() {
  NewMessage message = AnEvent();
  message.payload = R"({"x":"é€"})";
  return message;
}

TEST_F(PostgresEnqueue, RefusesTextThatTheServerWouldTakeForAnother) {
  ASSERT_TRUE(connection_->Execute("SET client_encoding TO LATIN1"));
  ASSERT_TRUE(connection_->Execute("BEGIN"));
  const auto refused = connection_->Enqueue(kEnqueueTable, ForeignEvent());
  EXPECT_THAT(refused, HasCode(Code::kInvalidArgument));
  EXPECT_THAT(refused.error().message(), ::testing::HasSubstr("client_encoding is LATIN1"));
  const std::vector<NewMessage> many{AnEvent(), ForeignEvent()};
  EXPECT_THAT(connection_->EnqueueMany(kEnqueueTable, many), HasCode(Code::kInvalidArgument));
  EXPECT_OK(connection_->Enqueue(kEnqueueTable, AnEvent()));  // ASCII is the same in all of them
  ASSERT_TRUE(connection_->Execute("COMMIT"));

  for (const char* encoding : {"UTF8", "SQL_ASCII"}) {
    ASSERT_TRUE(connection_->Execute(base::StrCat("SET client_encoding TO ", encoding)));
    EXPECT_OK(InTransaction(ForeignEvent()));
  }
  EXPECT_EQ(Rows(R"(payload::text = '{"x":"é€"}')"), 2);
}

TEST(PostgresEncoding, IsAskedOfTheServerToo) {
  Postgres backend(" ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
  backend.SetUp();
  if (::testing::Test::IsSkipped() || ::testing::Test::HasFatalFailure()) return;
  const auto connection = backend.Connect();
  NewMessage message = AnEvent();
  message.payload = R"({"x":"é"})";
  const auto enqueue = [&](const char* encoding) {
    connection->Execute(base::StrCat("SET client_encoding TO ", encoding));
    connection->Execute("BEGIN");
    auto result = connection->Enqueue(kEnqueueTable, message);
    connection->Execute("COMMIT");
    return result;
  };
  EXPECT_THAT(enqueue("LATIN1"), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(enqueue("SQL_ASCII"), HasCode(Code::kInvalidArgument));
  EXPECT_OK(enqueue("UTF8"));
  EXPECT_EQ(
      connection->Number(R"(SELECT count(*) FROM orders_outbox WHERE payload::text = '{"x":"é"}')"),
      1);
}

TEST_F(PostgresEnqueue, AProducerNeedsItsRoleOnly) {
  ASSERT_TRUE(connection_->Execute("SET ROLE outbox_producer"));
  NewMessage once = AnEvent();
  once.dedupe_key = "once";
  const std::vector<NewMessage> many{AnEvent(), once, AnEvent()};
  ASSERT_TRUE(connection_->Execute("BEGIN"));
  EXPECT_OK(connection_->Enqueue(kEnqueueTable, AnEvent()));
  EXPECT_OK(connection_->Enqueue(kEnqueueTable, once));
  EXPECT_OK(connection_->EnqueueMany(kEnqueueTable, many));
  ASSERT_TRUE(connection_->Execute("COMMIT"));
  EXPECT_EQ(Rows(), 4);
}

struct ServersAnswer {
  const char* sqlstate;
  Code code;
  Disposition disposition;
};

TEST_F(PostgresEnqueue, SaysWhatTheServersAnswerMeans) {
  ASSERT_TRUE(connection_->Execute(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
      " RAISE EXCEPTION 'no' USING ERRCODE = current_setting('test.state'); END $$"));
  ASSERT_TRUE(
      connection_->Execute("CREATE TRIGGER refuse BEFORE INSERT ON orders_outbox"
                           " FOR EACH ROW EXECUTE FUNCTION refuse()"));
  const ServersAnswer answers[] = {
      {"22023", Code::kInvalidArgument, Disposition::kPermanent},
      {"23502", Code::kSchema, Disposition::kPermanent},
      {"23505", Code::kInvalidArgument, Disposition::kPermanent},
      {"25006", Code::kUnavailable, Disposition::kRetry},
      {"40001", Code::kConflict, Disposition::kRetry},
      {"40P01", Code::kConflict, Disposition::kRetry},
      {"42501", Code::kPermission, Disposition::kPermanent},
      {"42883", Code::kSchema, Disposition::kPermanent},
      {"53100", Code::kUnavailable, Disposition::kRetry},
      {"53200", Code::kUnavailable, Disposition::kRetry},
      {"54000", Code::kInvalidArgument, Disposition::kPermanent},
      {"55P03", Code::kConflict, Disposition::kRetry},
      {"57014", Code::kDeadline, Disposition::kRetry},
      {"58030", Code::kUnavailable, Disposition::kRetry},
      {"P0001", Code::kInvalidArgument, Disposition::kPermanent},
      {"XX000", Code::kInternal, Disposition::kRetry},
      {"ZZ999", Code::kInternal, Disposition::kRetry},
  };
  for (const ServersAnswer& expected : answers) {
    ASSERT_TRUE(connection_->Execute(base::StrCat("SET test.state TO '", expected.sqlstate, "'")));
    const auto result = InTransaction(AnEvent());
    EXPECT_THAT(result, HasCode(expected.code)) << expected.sqlstate;
    EXPECT_EQ(result.error().disposition(), expected.disposition) << expected.sqlstate;
    EXPECT_EQ(result.error().native(), expected.sqlstate);
    EXPECT_FALSE(result.error().hint().empty()) << expected.sqlstate;
  }
}

TEST_F(PostgresEnqueue, TellsAReadOnlyTransactionAndTimeoutsApart) {
  ASSERT_TRUE(connection_->Execute("BEGIN READ ONLY"));
  const auto read_only = connection_->Enqueue(kEnqueueTable, AnEvent());
  EXPECT_THAT(read_only, HasCode(Code::kUnavailable));
  EXPECT_THAT(read_only.error().hint(), ::testing::HasSubstr("READ WRITE"));
  ASSERT_TRUE(connection_->Execute("ROLLBACK"));

  const auto other = backend_.Connect();
  ASSERT_TRUE(other->Execute("BEGIN"));
  ASSERT_TRUE(other->Execute("LOCK TABLE orders_outbox IN EXCLUSIVE MODE"));
  const auto enqueue_with = [&](const char* setting) {
    EXPECT_TRUE(connection_->Execute("BEGIN"));
    EXPECT_TRUE(connection_->Execute(setting));
    auto result = connection_->Enqueue(kEnqueueTable, AnEvent());
    EXPECT_TRUE(connection_->Execute("ROLLBACK"));
    return result;
  };
  EXPECT_THAT(enqueue_with("SET LOCAL lock_timeout TO '50ms'"), HasCode(Code::kConflict));
  EXPECT_THAT(enqueue_with("SET LOCAL statement_timeout TO '2s'"), HasCode(Code::kDeadline));
}

TEST_F(PostgresEnqueue, HandsOnTheHintOfTheTablesRule) {
  connection_->Execute("BEGIN");
  NewMessage message = AnEvent();
  message.topic = "a.b";
  const auto result = connection_->Enqueue(kEnqueueTable, message, {.topics = TopicRule::kRelaxed});
  connection_->Execute("ROLLBACK");
  EXPECT_THAT(result, HasCode(Code::kInvalidArgument));
  EXPECT_THAT(result.error().hint(), ::testing::HasSubstr("orders.order.created.v1"));
}

// One transaction holds the key uncommitted; the other must wait for its end and then answer by it.
class PostgresRace : public PostgresEnqueue {
 protected:
  Result<Enqueued> SecondWhileFirstIsOpen(const NewMessage& message, const char* first_ends_with) {
    const auto second = backend_.Connect();
    EXPECT_TRUE(connection_->Execute("BEGIN"));
    first_ = connection_->Enqueue(kEnqueueTable, message);
    EXPECT_OK(first_);
    auto waiting = std::async(std::launch::async, [&] {
      second->Execute("BEGIN");
      auto result = second->Enqueue(kEnqueueTable, message);
      second->Execute("COMMIT");
      return result;
    });
    const auto answered = [&] {
      return waiting.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    };
    const auto onlooker = backend_.Connect();
    EXPECT_TRUE(WaitFor([&] {
      return answered() || onlooker->Number(
                               "SELECT count(*) FROM pg_stat_activity WHERE "
                               "wait_event_type = 'Lock' AND "
                               "datname = current_database()") > 0;
    }));
    EXPECT_FALSE(answered()) << "before the first transaction had ended";
    EXPECT_TRUE(connection_->Execute(first_ends_with));
    return waiting.get();
  }

  Result<Enqueued> first_ = Status::Invalid("not called");
};

TEST_F(PostgresRace, ReportsTheFirstOneWhenItCommits) {
  NewMessage message = AnEvent();
  message.dedupe_key = "order-1";
  const auto second = SecondWhileFirstIsOpen(message, "COMMIT");
  ASSERT_OK(second);
  EXPECT_TRUE(second->already_enqueued);
  EXPECT_EQ(second->id, first_->id);
  EXPECT_EQ(Rows(), 1);
}

TEST_F(PostgresRace, AddsTheSecondWhenTheFirstRollsBack) {
  NewMessage message = AnEvent();
  message.id = Uuid::NewV7();
  const auto second = SecondWhileFirstIsOpen(message, "ROLLBACK");
  ASSERT_OK(second);
  EXPECT_FALSE(second->already_enqueued);
  EXPECT_EQ(Rows(), 1);
}

}  // namespace
}  // namespace outbox::testing
