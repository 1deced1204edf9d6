#include "store/postgres/session.h"

namespace outbox::store::postgres {
namespace {

// Long enough for a bulk enqueue of kEnqueueManyMax messages.
constexpr std::chrono::minutes kStatementWait{5};
// Closing the connection does it as well.
constexpr std::chrono::seconds kSessionRollbackWait{2};

Status NoTransaction() {
  return Status::Permanent(Code::kNoTransaction, "no transaction is open on this session");
}

}  // namespace

PostgresSession::PostgresSession(std::shared_ptr<const Address> address)
    : connection_(std::move(address), Plans::kFresh) {}

Deadline PostgresSession::StatementDeadline() const {
  return transaction_deadline_.value_or(Deadline::After(kStatementWait));
}

Status PostgresSession::Begin(std::optional<Deadline> deadline) {
  transaction_deadline_ = deadline;
  return connection_.Run("BEGIN", StatementDeadline());
}

Status PostgresSession::Commit() {
  const TransactionState state = transaction_state();
  if (state == TransactionState::kNone) return NoTransaction();
  const Deadline deadline = StatementDeadline();
  transaction_deadline_.reset();
  OUTBOX_RETURN_IF_ERROR(connection_.Run("COMMIT", deadline));
  // The server answers a COMMIT of a failed transaction by rolling it back, without an error.
  if (state == TransactionState::kOpen) return Status::Ok();
  return Status::Permanent(Code::kTransactionAborted,
                           "the transaction had failed before and was rolled back");
}

void PostgresSession::Rollback() noexcept {
  transaction_deadline_.reset();
  if (transaction_state() == TransactionState::kNone) return;
  if (!connection_.Run("ROLLBACK", Deadline::After(kSessionRollbackWait)).ok()) connection_.Close();
}

Status PostgresSession::Execute(const std::string& sql) {
  return connection_.Run(sql, StatementDeadline());
}

Result<std::vector<Executor::Row>> PostgresSession::Execute(const std::string& sql,
                                                            std::span<const Param> params) {
  // Enqueue checked it too; but a connection lost since then must not be opened anew in the middle.
  if (!connection_.Healthy() || transaction_state() == TransactionState::kNone) {
    return NoTransaction();
  }
  return connection_.ExecuteText(sql, params, StatementDeadline());
}

}  // namespace outbox::store::postgres
