#include "tests/e2e/support/sql.h"

#include <libpq-fe.h>
#include <sqlite3.h>

#include <cstdlib>

#include "base/handle.h"

namespace outbox::testing {
namespace {

constexpr int kBusyTimeoutMs = 30'000;

class PostgresConnection final : public SqlConnection {
 public:
  explicit PostgresConnection(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
    PQsetNoticeProcessor(
        connection_.get(), [](void*, const char*) {}, nullptr);
  }
  bool connected() const { return PQstatus(connection_.get()) == CONNECTION_OK; }

  bool Execute(const std::string& sql) override { return Run(sql) != nullptr; }

  Rows Query(const std::string& sql) override {
    Rows rows;
    const auto result = Run(sql);
    if (result == nullptr) return rows;
    for (int row = 0; row < PQntuples(result.get()); ++row) {
      auto& columns = rows.emplace_back();
      for (int column = 0; column < PQnfields(result.get()); ++column) {
        columns.emplace_back(PQgetvalue(result.get(), row, column));
      }
    }
    return rows;
  }

  const std::string& error() const override { return error_; }

  Result<std::vector<Enqueued>> EnqueueMany(std::string_view table,
                                            std::span<const NewMessage> messages) override {
    return outbox::EnqueueMany(connection_.get(), table, messages);
  }

 private:
  using ResultHandle = base::UniqueHandle<PGresult, PQclear>;

  ResultHandle Run(const std::string& sql) {
    ResultHandle result(PQexec(connection_.get(), sql.c_str()));
    const ExecStatusType status = PQresultStatus(result.get());
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return result;
    error_ = PQerrorMessage(connection_.get());
    return nullptr;
  }

  base::UniqueHandle<PGconn, PQfinish> connection_;
  std::string error_;
};

class SqliteConnection final : public SqlConnection {
 public:
  explicit SqliteConnection(const std::string& path) {
    sqlite3* opened = nullptr;
    sqlite3_open(path.c_str(), &opened);
    database_.reset(opened);
    sqlite3_busy_timeout(opened, kBusyTimeoutMs);
  }

  bool Execute(const std::string& sql) override {
    if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) {
      return true;
    }
    error_ = sqlite3_errmsg(database_.get());
    return false;
  }

  Rows Query(const std::string& sql) override {
    Rows rows;
    const auto collect = [](void* out, int count, char** values, char**) {
      auto& columns = static_cast<Rows*>(out)->emplace_back();
      for (int i = 0; i < count; ++i) columns.emplace_back(values[i] == nullptr ? "" : values[i]);
      return 0;
    };
    if (sqlite3_exec(database_.get(), sql.c_str(), collect, &rows, nullptr) != SQLITE_OK) {
      error_ = sqlite3_errmsg(database_.get());
      rows.clear();
    }
    return rows;
  }

  const std::string& error() const override { return error_; }

  Result<std::vector<Enqueued>> EnqueueMany(std::string_view table,
                                            std::span<const NewMessage> messages) override {
    return outbox::EnqueueMany(database_.get(), table, messages);
  }

 private:
  base::UniqueHandle<sqlite3, sqlite3_close_v2> database_;
  std::string error_;
};

}  // namespace

std::unique_ptr<SqlConnection> SqlConnection::Open(const std::string& url) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (url.starts_with(kSqlite)) {
    return std::make_unique<SqliteConnection>(url.substr(kSqlite.size()));
  }
  auto connection = std::make_unique<PostgresConnection>(url);
  if (!connection->connected()) return nullptr;
  return connection;
}

std::int64_t SqlConnection::Number(const std::string& sql) {
  const Rows rows = Query(sql);
  if (rows.empty() || rows.front().empty()) return -1;
  return std::atoll(rows.front().front().c_str());
}

std::vector<std::string> SqlConnection::Column(const std::string& sql) {
  std::vector<std::string> values;
  for (auto& row : Query(sql)) values.push_back(std::move(row.front()));
  return values;
}

}  // namespace outbox::testing
