#include <sqlite3.h>

#include <string_view>

#include "base/handle.h"
#include "base/text.h"
#include "enqueue/executors.h"

namespace outbox {
namespace enqueue {
namespace {

using StatementHandle = base::UniqueHandle<sqlite3_stmt, sqlite3_finalize>;

// A column the statement names and the table lacks, or the other way round.
bool IsOfAnotherSchema(int code, std::string_view text) {
  return code == SQLITE_CONSTRAINT_NOTNULL ||
         ((code & 0xFF) == SQLITE_ERROR && (text.find("no such column") != std::string_view::npos ||
                                            text.find("has no column") != std::string_view::npos));
}

Status Classify(sqlite3* database) {
  const int code = sqlite3_extended_errcode(database);
  const std::string text =
      base::StrCat("enqueue: ", base::CleanError(sqlite3_errmsg(database), 300));
  const std::string native = base::StrCat("SQLite ", code);
  if (IsOfAnotherSchema(code, text)) {
    return Status::Permanent(Code::kSchema, text)
        .WithHint("the table is not an outbox table; see outboxd migrate status")
        .WithNative(native);
  }
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Status::Retry(Code::kUnavailable, text)
          .WithHint("set sqlite3_busy_timeout, and BEGIN IMMEDIATE for transactions that write")
          .WithNative(native);
    case SQLITE_CONSTRAINT:
      return Status::Permanent(Code::kInvalidArgument, text).WithNative(native);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return Status::Permanent(Code::kPermission, text).WithNative(native);
    case SQLITE_ERROR:
      return Status::Permanent(Code::kNotFound, text)
          .WithHint("create the table with: outboxd migrate up --table TABLE")
          .WithNative(native);
    default: return Status::Retry(Code::kInternal, text).WithNative(native);
  }
}

}  // namespace

TransactionState SqliteExecutor::transaction_state() const {
  return sqlite3_get_autocommit(database_) == 0 ? TransactionState::kOpen : TransactionState::kNone;
}

Result<std::vector<Executor::Row>> SqliteExecutor::Execute(const std::string& sql,
                                                           std::span<const Param> params) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(database_, sql.c_str(), -1, &raw, nullptr) != SQLITE_OK) {
    return Classify(database_);
  }
  const StatementHandle statement(raw);
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (!params[i]) continue;
    if (sqlite3_bind_text64(raw, static_cast<int>(i) + 1, params[i]->data(), params[i]->size(),
                            SQLITE_STATIC, SQLITE_UTF8) != SQLITE_OK) {
      return Classify(database_);
    }
  }
  std::vector<Row> rows;
  int step = 0;
  while ((step = sqlite3_step(raw)) == SQLITE_ROW) {
    Row row;
    for (int c = 0; c < sqlite3_column_count(raw); ++c) {
      const auto* text = sqlite3_column_text(raw, c);
      if (text == nullptr) {
        row.emplace_back();
      } else {
        row.emplace_back(std::string(reinterpret_cast<const char*>(text),
                                     static_cast<std::size_t>(sqlite3_column_bytes(raw, c))));
      }
    }
    rows.push_back(std::move(row));
  }
  if (step != SQLITE_DONE) return Classify(database_);
  return rows;
}

}  // namespace enqueue

Result<Enqueued> Enqueue(sqlite3* transaction, std::string_view table, const NewMessage& message,
                         const EnqueueOptions& options) {
  enqueue::SqliteExecutor executor(transaction);
  return Enqueue(executor, table, message, options);
}

Result<std::vector<Enqueued>> EnqueueMany(sqlite3* transaction, std::string_view table,
                                          std::span<const NewMessage> messages,
                                          const EnqueueOptions& options) {
  enqueue::SqliteExecutor executor(transaction);
  return EnqueueMany(executor, table, messages, options);
}

}  // namespace outbox
