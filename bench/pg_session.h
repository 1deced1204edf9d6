// PgSession: a bare libpq connection, used as an application uses its own. No store code behind it.
//
// Threads: one at a time.
#pragma once

#include <libpq-fe.h>

#include <span>
#include <string>
#include <string_view>

#include "base/handle.h"
#include "outbox/status.h"
#include "store/postgres/params.h"

namespace outbox::bench {

using PgResult = base::UniqueHandle<PGresult, PQclear>;

class PgSession {
 public:
  static Result<PgSession> Open(const std::string& address);

  // Runs one statement without parameters.
  Status Execute(std::string_view sql);
  // Runs one statement with parameters in text form, once.
  Result<PgResult> Query(std::string_view sql, std::span<const std::string> params);
  // The first column of the first row, as text.
  Result<std::string> Value(std::string_view sql);

  Status Prepare(const char* name, std::string_view sql);
  // Runs a prepared statement with text parameters.
  Status Run(const char* name, std::span<const char* const> params);
  // Runs a prepared statement, binary in and out.
  Result<PgResult> RunBinary(const char* name, const store::postgres::Params& params);

  PGconn* handle() const noexcept { return handle_.get(); }

 private:
  using Handle = base::UniqueHandle<PGconn, PQfinish>;

  explicit PgSession(Handle handle) : handle_(std::move(handle)) {}
  Result<PgResult> Check(PGresult* result);

  Handle handle_;
};

}  // namespace outbox::bench
