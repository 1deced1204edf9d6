#include <libpq-fe.h>

#include <cstdlib>
#include <future>

#include "base/handle.h"
#include "enqueue/enqueue_suite.h"
#include "store/backend.h"
#include "tests/support/postgres.h"

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
  static constexpr const char* kBeginWriting = "BEGIN";
  static constexpr const char* kDisplayName = "public.orders_outbox";

  void SetUp() {
    OUTBOX_REQUIRE_POSTGRES();
    const std::string server = SharedPostgresUrl();
    name_ = "enqueue_" + Uuid::NewV7().ToString().substr(24);
    ASSERT_TRUE(PostgresConnection(server).Execute("CREATE DATABASE " + name_));
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

 private:
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
    EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout)
        << "answered before the first transaction had ended";
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
