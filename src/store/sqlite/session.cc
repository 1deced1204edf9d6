#include "store/sqlite/session.h"

#include <optional>
#include <utility>

#include "store/sqlite/connection.h"

namespace outbox::store::sqlite {
namespace {

constexpr std::chrono::seconds kCallTimeout{30};

class SessionExecutor final : public Executor {
 public:
  explicit SessionExecutor(Connection& connection) : connection_(connection) {}

  void set_transaction_deadline(std::optional<Deadline> deadline) { deadline_ = deadline; }
  // Before each call.
  void StartClock() { connection_.set_deadline(deadline_.value_or(Deadline::After(kCallTimeout))); }

  Dialect dialect() const override { return Dialect::kSqlite; }

  TransactionState transaction_state() const override {
    return connection_.in_transaction() ? TransactionState::kOpen : TransactionState::kNone;
  }

  Result<std::vector<Row>> Execute(const std::string& sql, std::span<const Param> params) override {
    StartClock();
    OUTBOX_ASSIGN_OR_RETURN(Query query, connection_.Prepare(sql));
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (params[i]) query.Bind(static_cast<int>(i + 1), *params[i]);
    }
    std::vector<Row> rows;
    while (true) {
      OUTBOX_ASSIGN_OR_RETURN(const bool found, query.Step());
      if (!found) return rows;
      rows.push_back(ReadRow(query));
    }
  }

 private:
  static Row ReadRow(const Query& query) {
    Row row;
    for (int column = 0; column < query.columns(); ++column) {
      if (query.IsNull(column)) {
        row.emplace_back();
      } else {
        row.emplace_back(query.Text(column));
      }
    }
    return row;
  }

  Connection& connection_;
  std::optional<Deadline> deadline_;
};

class SqliteSession final : public Session {
 public:
  explicit SqliteSession(std::unique_ptr<Connection> connection)
      : connection_(std::move(connection)), executor_(*connection_) {}

  Executor& executor() override { return executor_; }

  Status Begin(std::optional<Deadline> deadline) override {
    executor_.set_transaction_deadline(deadline);
    executor_.StartClock();
    return connection_->Begin();
  }

  Status Commit() override {
    executor_.StartClock();
    executor_.set_transaction_deadline(std::nullopt);
    return connection_->Commit();
  }

  void Rollback() noexcept override {
    executor_.set_transaction_deadline(std::nullopt);
    connection_->Rollback();
  }

  Status Execute(const std::string& sql) override {
    executor_.StartClock();
    return connection_->Execute(sql);
  }

 private:
  std::unique_ptr<Connection> connection_;
  SessionExecutor executor_;
};

}  // namespace

Result<std::unique_ptr<Session>> OpenSession(const std::string& path, Deadline deadline) {
  OUTBOX_ASSIGN_OR_RETURN(auto connection, Connection::Open(path, OpenMode::kExisting, deadline));
  return std::unique_ptr<Session>(std::make_unique<SqliteSession>(std::move(connection)));
}

}  // namespace outbox::store::sqlite
