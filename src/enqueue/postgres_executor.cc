#include <libpq-fe.h>

#include "base/handle.h"
#include "base/text.h"
#include "enqueue/executors.h"
#include "enqueue/prepared_statements.h"

namespace outbox {
namespace enqueue {
namespace {

using ResultHandle = base::UniqueHandle<PGresult, PQclear>;

// What the database says about an enqueue. The primary message only: details may quote the row.
Status Classify(const PGresult* result, const PGconn* connection) {
  const char* state = result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_SQLSTATE);
  if (state == nullptr) {
    return Status::InDoubt(
        Code::kUnavailable,
        base::CleanError(base::StrCat("enqueue: connection lost: ", PQerrorMessage(connection)),
                         300));
  }
  const std::string_view code = state;
  const char* primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const std::string text =
      base::StrCat("enqueue: ", base::CleanError(primary == nullptr ? "" : primary, 300));
  const auto permanent = [&](Code kind, const char* hint) {
    return Status::Permanent(kind, text).WithHint(hint).WithNative(std::string(code));
  };
  if (code == "42P01" || code == "3F000") {
    return permanent(Code::kNotFound, "create it with: outboxd migrate up --table TABLE");
  }
  // Also a column this library does not know and so leaves out.
  if (code == "42703" || code == "42804" || code == "23502") {
    return permanent(Code::kSchema, "the table is not an outbox table; see outboxd migrate status");
  }
  if (code == "42501") {
    return permanent(Code::kPermission, "GRANT outbox_producer to the role that enqueues");
  }
  if (code == "25P02") return permanent(Code::kTransactionAborted, "roll back and start again");
  if (code.starts_with("22") || code == "23514") {
    return permanent(Code::kInvalidArgument,
                     "the constraint named in the message says what is wrong");
  }
  if (code.starts_with("40")) {
    return Status::Retry(Code::kConflict, text)
        .WithHint("roll back and run the whole transaction again")
        .WithNative(std::string(code));
  }
  if (code.starts_with("08") || code.starts_with("57P")) {
    return Status::InDoubt(Code::kUnavailable, text).WithNative(std::string(code));
  }
  return Status::Retry(Code::kInternal, text).WithNative(std::string(code));
}

PGresult* Run(PGconn* connection, const std::string& sql, const std::vector<const char*>& values) {
  const int count = static_cast<int>(values.size());
  PreparedStatements* const prepared = PreparedStatements::Of(connection);
  PGresult* failure = nullptr;
  const char* const name = prepared != nullptr ? prepared->Use(sql, failure) : nullptr;
  if (failure != nullptr) return failure;
  if (name == nullptr) {
    return PQexecParams(connection, sql.c_str(), count, nullptr, values.data(), nullptr, nullptr,
                        0);
  }
  return PQexecPrepared(connection, name, count, values.data(), nullptr, nullptr, 0);
}

}  // namespace

TransactionState PostgresExecutor::transaction_state() const {
  switch (PQtransactionStatus(connection_)) {
    case PQTRANS_IDLE: return TransactionState::kNone;
    case PQTRANS_INERROR: return TransactionState::kAborted;
    case PQTRANS_ACTIVE:
    case PQTRANS_INTRANS:
    case PQTRANS_UNKNOWN: break;
  }
  return TransactionState::kOpen;
}

Result<std::vector<Executor::Row>> PostgresExecutor::Execute(const std::string& sql,
                                                             std::span<const Param> params) {
  if (PQstatus(connection_) != CONNECTION_OK) {
    return Status::Retry(Code::kUnavailable, "enqueue: the connection is not open");
  }
  std::vector<const char*> values;
  values.reserve(params.size());
  for (const Param& param : params) values.push_back(param ? param->c_str() : nullptr);
  const ResultHandle result(Run(connection_, sql, values));
  if (result == nullptr || PQresultStatus(result.get()) != PGRES_TUPLES_OK) {
    return Classify(result.get(), connection_);
  }
  std::vector<Row> rows(static_cast<std::size_t>(PQntuples(result.get())));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (int c = 0; c < PQnfields(result.get()); ++c) {
      const int row = static_cast<int>(r);
      if (PQgetisnull(result.get(), row, c)) {
        rows[r].emplace_back();
      } else {
        rows[r].emplace_back(std::string(PQgetvalue(result.get(), row, c)));
      }
    }
  }
  return rows;
}

}  // namespace enqueue

Result<Enqueued> Enqueue(pg_conn* transaction, std::string_view table, const NewMessage& message,
                         const EnqueueOptions& options) {
  enqueue::PostgresExecutor executor(transaction);
  return Enqueue(executor, table, message, options);
}

Result<std::vector<Enqueued>> EnqueueMany(pg_conn* transaction, std::string_view table,
                                          std::span<const NewMessage> messages,
                                          const EnqueueOptions& options) {
  enqueue::PostgresExecutor executor(transaction);
  return EnqueueMany(executor, table, messages, options);
}

}  // namespace outbox
