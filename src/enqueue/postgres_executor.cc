#include <libpq-fe.h>

#include <algorithm>
#include <string_view>

#include "base/handle.h"
#include "base/text.h"
#include "enqueue/executors.h"
#include "enqueue/prepared_statements.h"

namespace outbox {
namespace enqueue {
namespace {

using ResultHandle = base::UniqueHandle<PGresult, PQclear>;

constexpr std::size_t kAnswerBytesMax = 300;

// The server's primary message and hint only: details may quote the row.
std::string AnswerField(const PGresult* result, int field) {
  const char* const text = PQresultErrorField(result, field);
  return text == nullptr ? "" : text;
}

Status Classify(const PGresult* result, const PGconn* connection) {
  const std::string state = result == nullptr ? "" : AnswerField(result, PG_DIAG_SQLSTATE);
  if (state.empty()) {
    return Status::InDoubt(Code::kUnavailable,
                           base::CleanError(base::StrCat("enqueue: connection lost: ",
                                                         PQerrorMessage(connection)),
                                            kAnswerBytesMax))
        .WithHint("open a new connection and run the whole transaction again");
  }
  return PostgresFailure(state, AnswerField(result, PG_DIAG_MESSAGE_PRIMARY),
                         AnswerField(result, PG_DIAG_MESSAGE_HINT));
}

// The library sends UTF-8. A server that takes it for another encoding stores other characters.
bool TakesUtf8(const PGconn* connection) {
  const auto parameter = [&](const char* name) {
    const char* const value = PQparameterStatus(connection, name);
    return std::string_view(value == nullptr ? "UTF8" : value);
  };
  const std::string_view client = parameter("client_encoding");
  if (client == "UTF8") return true;
  const std::string_view server = parameter("server_encoding");
  // SQL_ASCII on either side: nothing is converted.
  return server == "SQL_ASCII" || (client == "SQL_ASCII" && server == "UTF8");
}

bool IsAscii(const Executor::Param& param) {
  return !param || std::all_of(param->begin(), param->end(),
                               [](char c) { return (static_cast<unsigned char>(c) & 0x80) == 0; });
}

Status CheckEncoding(const PGconn* connection, std::span<const Executor::Param> params) {
  if (TakesUtf8(connection) || std::all_of(params.begin(), params.end(), IsAscii)) {
    return Status::Ok();
  }
  return Status::Invalid(base::StrCat("enqueue: the message is not all ASCII, and the connection's "
                                      "client_encoding is ",
                                      PQparameterStatus(connection, "client_encoding")))
      .WithHint("SET client_encoding TO 'UTF8' on this connection (or PQsetClientEncoding)");
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
  if (PQpipelineStatus(connection_) != PQ_PIPELINE_OFF) return TransactionState::kBusy;
  switch (PQtransactionStatus(connection_)) {
    case PQTRANS_IDLE: return TransactionState::kNone;
    case PQTRANS_INERROR: return TransactionState::kAborted;
    case PQTRANS_ACTIVE: return TransactionState::kBusy;
    case PQTRANS_INTRANS:
    case PQTRANS_UNKNOWN: break;  // a connection that is lost is told of by Execute
  }
  return TransactionState::kOpen;
}

Result<std::vector<Executor::Row>> PostgresExecutor::Execute(const std::string& sql,
                                                             std::span<const Param> params) {
  if (PQstatus(connection_) != CONNECTION_OK) {
    return Status::Retry(Code::kUnavailable, "enqueue: the connection is not open");
  }
  OUTBOX_RETURN_IF_ERROR(CheckEncoding(connection_, params));
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
