// PostgresTest: a fixture with a database of its own on the shared server, and one outbox table.
#pragma once

#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "store/postgres/backend.h"
#include "tests/support/matchers.h"
#include "tests/support/postgres.h"

namespace outbox::store::postgres {

inline Deadline Soon() { return Deadline::After(std::chrono::seconds(30)); }

// A plain libpq connection that fails the test on any error.
class PlainConnection {
 public:
  explicit PlainConnection(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
    EXPECT_EQ(PQstatus(connection_), CONNECTION_OK) << PQerrorMessage(connection_);
  }
  ~PlainConnection() { PQfinish(connection_); }
  PlainConnection(const PlainConnection&) = delete;
  PlainConnection& operator=(const PlainConnection&) = delete;

  // The first column of the first row, or "".
  std::string Run(const std::string& sql) {
    PGresult* result = PQexec(connection_, sql.c_str());
    const ExecStatusType status = PQresultStatus(result);
    EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        << sql << ": " << PQresultErrorMessage(result);
    std::string value = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
    PQclear(result);
    return value;
  }
  // All rows, columns joined by |, rows by newline.
  std::string Table(const std::string& sql) {
    PGresult* result = PQexec(connection_, sql.c_str());
    EXPECT_EQ(PQresultStatus(result), PGRES_TUPLES_OK) << PQresultErrorMessage(result);
    std::string text;
    for (int row = 0; row < PQntuples(result); ++row) {
      for (int column = 0; column < PQnfields(result); ++column) {
        text += base::StrCat(column > 0 ? "|" : "", PQgetvalue(result, row, column));
      }
      text += "\n";
    }
    PQclear(result);
    return text;
  }
  // The SQLSTATE and message of a statement that must fail; "" when it did not.
  std::string Failure(const std::string& sql) {
    PGresult* result = PQexec(connection_, sql.c_str());
    const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char* hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
    std::string text =
        state == nullptr
            ? ""
            : base::StrCat(state, " ", PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY),
                           hint != nullptr ? " | " : "", hint != nullptr ? hint : "");
    PQclear(result);
    return text;
  }
  PGconn* get() { return connection_; }

 private:
  PGconn* connection_;
};

// True as soon as `condition` holds; false when it does not in time.
template <typename Condition>
bool Eventually(Condition condition, std::chrono::seconds patience = std::chrono::seconds(30)) {
  const Deadline end = Deadline::After(patience);
  while (!condition()) {
    if (end.passed()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

class PostgresTest : public ::testing::Test {
 protected:
  static constexpr const char* kTable = "public.orders_outbox";

  void SetUp() override {
    OUTBOX_REQUIRE_POSTGRES();
    server_ = ServerUrl();
    const std::string& server = server_;
    database_ = base::StrCat("t_", getpid(), "_", base::RandomBits());
    PlainConnection(server).Run("CREATE DATABASE " + database_);
    url_ = server.substr(0, server.rfind('/') + 1) + database_;
    sql_ = std::make_unique<PlainConnection>(url_);
    backend_ = Open(url_);
    Migrate({.table = kTable});
  }

  // The server to make the test's database on.
  virtual std::string ServerUrl() { return ::outbox::testing::SharedPostgresUrl(); }

  void TearDown() override {
    sql_.reset();
    backend_.reset();
    if (database_.empty()) return;
    PlainConnection(server_).Run("DROP DATABASE IF EXISTS " + database_ + " WITH (FORCE)");
  }

  static std::unique_ptr<Backend> Open(const std::string& url) {
    auto backend = OpenPostgres(url);
    EXPECT_OK(backend);
    return std::move(backend).value();
  }

  void Migrate(const MigrateOptions& options) {
    auto migrator = backend_->OpenMigrator(Soon());
    ASSERT_OK(migrator);
    ASSERT_OK((*migrator)->Up(options, Soon()));
  }

  std::unique_ptr<RelayStore> OpenRelay(RelayStoreOptions options = {}) {
    options.table = kTable;
    if (options.relay_id.empty()) options.relay_id = "relay";
    auto store = backend_->OpenRelay(options, Soon());
    EXPECT_OK(store);
    return std::move(store).value();
  }

  // `count` messages, due now, in one transaction; their payload is {"n": 1} and so on.
  void Insert(int count, const std::string& topic = "orders.order.created.v1") {
    sql_->Run(base::StrCat(
        "INSERT INTO orders_outbox (id, topic, payload) SELECT outbox.uuid_v7(), '", topic,
        "', json_build_object('n', n) FROM generate_series(1, ", count, ") AS n"));
  }

  static ClaimRequest Batch(std::size_t limit) {
    return {.limit = limit, .lease = std::chrono::seconds(60)};
  }

  static std::vector<Outcome> All(const Claim& claim, Outcome::Kind kind) {
    std::vector<Outcome> outcomes;
    for (std::uint32_t i = 0; i < claim.messages().size(); ++i) {
      outcomes.push_back({.index = i, .kind = kind});
    }
    return outcomes;
  }

  std::unique_ptr<Claim> Next(RelayStore& store, const ClaimRequest& request) {
    auto claim = store.Next(request, Soon());
    EXPECT_OK(claim);
    return std::move(claim).value();
  }

  std::string Value(const std::string& sql) { return sql_->Run(sql); }

  std::string database_;
  std::string url_;
  std::unique_ptr<PlainConnection> sql_;
  std::string server_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace outbox::store::postgres
