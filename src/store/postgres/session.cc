#include "store/postgres/session.h"

namespace outbox::store::postgres {
namespace {

// Session has no deadlines of its own. Long enough for a bulk enqueue of kEnqueueManyMax messages.
constexpr std::chrono::minutes kStatementWait{5};

Status NoTransaction() {
  return Status::Permanent(Code::kNoTransaction, "no transaction is open on this session");
}

}  // namespace

PostgresSession::PostgresSession(std::shared_ptr<const Address> address)
    : connection_(std::move(address), Plans::kFresh) {}

Status PostgresSession::Begin() {
  return connection_.Run("BEGIN", Deadline::After(kStatementWait));
}

Status PostgresSession::Commit() {
  const TransactionState state = transaction_state();
  if (state == TransactionState::kNone) return NoTransaction();
  OUTBOX_RETURN_IF_ERROR(connection_.Run("COMMIT", Deadline::After(kStatementWait)));
  // The server answers a COMMIT of a failed transaction by rolling it back, without an error.
  if (state == TransactionState::kOpen) return Status::Ok();
  return Status::Permanent(Code::kTransactionAborted,
                           "the transaction had failed before and was rolled back");
}

void PostgresSession::Rollback() noexcept {
  if (transaction_state() == TransactionState::kNone) return;
  if (!connection_.Run("ROLLBACK", Deadline::After(kStatementWait)).ok()) connection_.Close();
}

Status PostgresSession::Execute(const std::string& sql) {
  return connection_.Run(sql, Deadline::After(kStatementWait));
}

Result<std::vector<Executor::Row>> PostgresSession::Execute(const std::string& sql,
                                                            std::span<const Param> params) {
  // Enqueue checked it too; but a connection lost since then must not be opened anew in the middle.
  if (!connection_.Healthy() || transaction_state() == TransactionState::kNone) {
    return NoTransaction();
  }
  return connection_.ExecuteText(sql, params, Deadline::After(kStatementWait));
}

}  // namespace outbox::store::postgres
