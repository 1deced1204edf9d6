// PostgresSession: a connection of our own on which to enqueue.
//
// Threads: one at a time.
#pragma once

#include <memory>
#include <optional>

#include "store/backend.h"
#include "store/postgres/connection.h"

namespace outbox::store::postgres {

class PostgresSession final : public Session, private Executor {
 public:
  explicit PostgresSession(std::shared_ptr<const Address> address);

  Status Open(Deadline deadline) { return connection_.Open(deadline); }

  Executor& executor() override { return *this; }
  Status Begin(std::optional<Deadline> deadline) override;
  Status Commit() override;
  void Rollback() noexcept override;
  Status Execute(const std::string& sql) override;

 private:
  Dialect dialect() const override { return Dialect::kPostgres; }
  TransactionState transaction_state() const override { return connection_.transaction_state(); }
  Result<std::vector<Row>> Execute(const std::string& sql, std::span<const Param> params) override;

  Deadline StatementDeadline() const;

  Connection connection_;
  std::optional<Deadline> transaction_deadline_;
};

}  // namespace outbox::store::postgres
