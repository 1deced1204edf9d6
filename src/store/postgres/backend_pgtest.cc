#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "store/postgres/backend.h"
#include "store/postgres/postgres_fixture.h"

namespace outbox::store::postgres {
namespace {

using ::testing::HasSubstr;

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
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
  close(listener);
}

}  // namespace
}  // namespace outbox::store::postgres
