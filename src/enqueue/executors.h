// The executors behind the libpq and sqlite3 overloads of Enqueue. Each borrows the caller's
// connection for one call and keeps nothing.
#pragma once

#include "outbox/enqueue.h"

namespace outbox::enqueue {

class PostgresExecutor final : public Executor {
 public:
  explicit PostgresExecutor(pg_conn* connection) : connection_(connection) {}
  Dialect dialect() const override { return Dialect::kPostgres; }
  TransactionState transaction_state() const override;
  Result<std::vector<Row>> Execute(const std::string& sql, std::span<const Param> params) override;

 private:
  pg_conn* connection_;
};

class SqliteExecutor final : public Executor {
 public:
  explicit SqliteExecutor(sqlite3* database) : database_(database) {}
  Dialect dialect() const override { return Dialect::kSqlite; }
  TransactionState transaction_state() const override;
  Result<std::vector<Row>> Execute(const std::string& sql, std::span<const Param> params) override;

 private:
  sqlite3* database_;
};

}  // namespace outbox::enqueue
