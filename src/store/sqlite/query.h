// Query: one use of a prepared statement. Bind, step, read; the statement is reset when it ends.
//
// Lifetime: must not outlive its Connection. Text views are valid until the next Step or Reset.
// Threads: as its Connection.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "outbox/status.h"

namespace outbox::store::sqlite {

class Connection;

class Query {
 public:
  Query(Connection& connection, sqlite3_stmt* statement) noexcept
      : connection_(&connection), statement_(statement) {}
  Query(Query&& other) noexcept
      : connection_(other.connection_), statement_(std::exchange(other.statement_, nullptr)) {}
  Query& operator=(Query&&) = delete;
  ~Query() {
    if (statement_ != nullptr) Reset();
  }

  // Parameters count from 1. Text is not copied: it must live until the statement was reset. An
  // error shows at the next Step.
  Query& Bind(int parameter, std::int64_t value) noexcept;
  Query& Bind(int parameter, std::string_view text) noexcept;
  Query& BindNull(int parameter) noexcept;
  template <typename T>
  Query& Bind(int parameter, const std::optional<T>& value) noexcept {
    return value ? Bind(parameter, *value) : BindNull(parameter);
  }
  Query& Bind(int parameter, const std::string& text) noexcept {
    return Bind(parameter, std::string_view(text));
  }
  Query& Bind(int, std::string&&) = delete;

  // True when there is a row to read, false at the end.
  Result<bool> Step();
  // Runs a statement whose rows, if any, are of no interest; returns how many rows it changed.
  Result<std::int64_t> Run();
  // Ready to be bound and stepped again.
  void Reset() noexcept;

  // Columns count from 0. NULL reads as 0 and as empty text.
  bool IsNull(int column) const noexcept;
  std::int64_t Int(int column) const noexcept;
  std::string_view Text(int column) const noexcept;
  int columns() const noexcept { return sqlite3_column_count(statement_); }

 private:
  Connection* connection_;
  sqlite3_stmt* statement_;
  int bind_error_ = SQLITE_OK;
};

}  // namespace outbox::store::sqlite
