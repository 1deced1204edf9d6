#include "bench/pg_session.h"

#include <vector>

#include "base/text.h"

namespace outbox::bench {

Result<PgSession> PgSession::Open(const std::string& address) {
  Handle handle(PQconnectdb(address.c_str()));
  if (handle == nullptr || PQstatus(handle.get()) != CONNECTION_OK) {
    return Status::Retry(Code::kUnavailable, base::CleanError(PQerrorMessage(handle.get()), 300))
        .WithHint("check --db, or leave it out to use a private server");
  }
  // Notices (a table that is not there to be dropped) are no news here.
  PQsetNoticeProcessor(
      handle.get(), [](void*, const char*) {}, nullptr);
  return PgSession(std::move(handle));
}

Result<PgResult> PgSession::Check(PGresult* raw) {
  PgResult result(raw);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return result;
  return Status::Permanent(Code::kInternal, base::CleanError(PQerrorMessage(handle_.get()), 300));
}

Status PgSession::Execute(std::string_view sql) {
  return Check(PQexec(handle_.get(), std::string(sql).c_str())).error();
}

Result<PgResult> PgSession::Query(std::string_view sql, std::span<const std::string> params) {
  std::vector<const char*> values;
  for (const std::string& param : params) values.push_back(param.c_str());
  return Check(PQexecParams(handle_.get(), std::string(sql).c_str(),
                            static_cast<int>(values.size()), nullptr, values.data(), nullptr,
                            nullptr, 0));
}

Result<std::string> PgSession::Value(std::string_view sql) {
  OUTBOX_ASSIGN_OR_RETURN(const PgResult result, Query(sql, {}));
  if (PQntuples(result.get()) == 0) return Status::Permanent(Code::kNotFound, "no row came back");
  return std::string(PQgetvalue(result.get(), 0, 0));
}

Status PgSession::Prepare(const char* name, std::string_view sql) {
  return Check(PQprepare(handle_.get(), name, std::string(sql).c_str(), 0, nullptr)).error();
}

Status PgSession::Run(const char* name, std::span<const char* const> params) {
  return Check(PQexecPrepared(handle_.get(), name, static_cast<int>(params.size()), params.data(),
                              nullptr, nullptr, 0))
      .error();
}

Result<PgResult> PgSession::RunBinary(const char* name, const store::postgres::Params& params) {
  return Check(PQexecPrepared(handle_.get(), name, params.size(), params.Values().data(),
                              params.lengths(), params.formats(), 1));
}

}  // namespace outbox::bench
