#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "store/postgres/backend.h"
#include "store/postgres/postgres_fixture.h"

namespace outbox::store::postgres {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using BackendTest = PostgresTest;

TEST_F(BackendTest, DescribesItselfWithoutSecrets) {
  EXPECT_THAT(backend_->description(), HasSubstr(database_));
  EXPECT_TRUE(backend_->local());
  EXPECT_EQ(backend_->dialect(), Dialect::kPostgres);
}

TEST_F(BackendTest, NamesADatabaseThatDoesNotExist) {
  const auto backend = Open(url_ + "_gone");
  const auto store = backend->OpenRelay({.table = kTable, .relay_id = "r"}, Soon());
  EXPECT_THAT(store, HasCode(Code::kNotFound));
  EXPECT_EQ(store.error().native(), "3D000");
}

TEST_F(BackendTest, AnUnreachableServerMayBeTriedAgain) {
  const auto backend = Open("postgres://postgres@127.0.0.1:1/postgres");
  const auto store = backend->OpenRelay({.table = kTable, .relay_id = "r"}, Soon());
  EXPECT_THAT(store, HasCode(Code::kUnavailable));
  EXPECT_EQ(store.error().disposition(), Disposition::kRetry);
}

TEST_F(BackendTest, SessionRunsATransactionOfItsOwn) {
  auto opened = backend_->OpenSession(Soon());
  ASSERT_OK(opened);
  Session& session = **opened;
  EXPECT_EQ(session.executor().transaction_state(), TransactionState::kNone);
  EXPECT_THAT(session.Commit(), HasCode(Code::kNoTransaction));
  ASSERT_OK(session.Begin());
  EXPECT_EQ(session.executor().transaction_state(), TransactionState::kOpen);
  const std::vector<Executor::Param> params{"4", std::nullopt};
  const auto rows = session.executor().Execute("SELECT $1::int + 1, $2::text, 'x'", params);
  ASSERT_OK(rows);
  EXPECT_EQ(rows->at(0), (Executor::Row{"5", std::nullopt, "x"}));
  ASSERT_OK(session.Execute("CREATE TABLE shop (id int)"));
  session.Rollback();
  EXPECT_EQ(Value("SELECT count(*) FROM pg_class WHERE relname = 'shop'"), "0");

  ASSERT_OK(session.Begin());
  EXPECT_FALSE(session.Execute("SELECT no_such_function()").ok());
  EXPECT_EQ(session.executor().transaction_state(), TransactionState::kAborted);
  EXPECT_THAT(session.Commit(), HasCode(Code::kTransactionAborted));
}

TEST_F(BackendTest, ASessionThatLostItsConnectionDoesNotGoOnOutsideItsTransaction) {
  auto opened = backend_->OpenSession(Soon());
  ASSERT_OK(opened);
  Session& session = **opened;
  ASSERT_OK(session.Begin());
  sql_->Run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
      " WHERE datname = current_database() AND state = 'idle in transaction'");
  EXPECT_FALSE(session.Execute("CREATE TABLE stray (id int)").ok());
  EXPECT_EQ(Value("SELECT count(*) FROM pg_class WHERE relname = 'stray'"), "0");
  ASSERT_OK(session.Begin());
  session.Rollback();
}

TEST_F(BackendTest, AStatementOfASessionDoesNotOutlastItsTransactionsDeadline) {
  sql_->Run("CREATE TABLE busy (id int)");
  sql_->Run("BEGIN");
  sql_->Run("LOCK TABLE busy IN SHARE MODE");
  auto opened = backend_->OpenSession(Soon());
  ASSERT_OK(opened);
  Session& session = **opened;
  ASSERT_OK(session.Begin(Deadline::After(std::chrono::seconds(3))));
  EXPECT_THAT(session.executor().Execute("INSERT INTO busy VALUES (1)", {}),
              HasCode(Code::kDeadline));
  session.Rollback();
  sql_->Run("COMMIT");
  ASSERT_OK(session.Begin());
  EXPECT_OK(session.Execute("INSERT INTO busy VALUES (2)"));
  EXPECT_OK(session.Commit());
  EXPECT_EQ(Value("SELECT string_agg(id::text, ',') FROM busy"), "2");
}

TEST_F(BackendTest, ASilentServerDoesNotHoldACallerPastItsDeadline) {
  // A port that accepts and never answers.
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  socklen_t size = sizeof place;
  getsockname(listener, reinterpret_cast<sockaddr*>(&place), &size);
  const auto backend =
      Open(base::StrCat("postgres://postgres@127.0.0.1:", ntohs(place.sin_port), "/postgres"));
  const auto begun = std::chrono::steady_clock::now();
  const auto store = backend->OpenMigrator(Deadline::After(std::chrono::milliseconds(200)));
  EXPECT_THAT(store, HasCode(Code::kDeadline));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
  close(listener);
}

TEST_F(BackendTest, OurSessionsChooseTheirIsolation) {
  sql_->Run("ALTER DATABASE " + database_ +
            " SET default_transaction_isolation = 'repeatable read'");
  auto session = backend_->OpenSession(Soon());
  ASSERT_OK(session);
  ASSERT_OK((*session)->Begin());
  const auto level = (*session)->executor().Execute("SHOW transaction_isolation", {});
  ASSERT_OK(level);
  EXPECT_EQ(level->at(0).at(0), "read committed");
  PlainConnection plain(url_);
  EXPECT_EQ(plain.Run("SHOW transaction_isolation"), "repeatable read") << "what others have";
}

TEST_F(BackendTest, AnAlteredTableCostsARelayOneTry) {
  Insert(2);
  const auto store = OpenRelay();
  ASSERT_EQ(Next(*store, Batch(1))->messages().size(), 1U);
  sql_->Run("ALTER TABLE orders_outbox ALTER COLUMN headers TYPE jsonb USING headers::jsonb");
  const auto failed = store->Next(Batch(1), Soon());
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().disposition(), Disposition::kRetry);
  EXPECT_THAT(failed.error().hint(), Not(HasSubstr("PostgreSQL 13")));
  sql_->Run("ALTER TABLE orders_outbox ALTER COLUMN headers TYPE json USING headers::json");
  EXPECT_EQ(Next(*store, Batch(1))->messages().size(), 1U);
}

}  // namespace
}  // namespace outbox::store::postgres
