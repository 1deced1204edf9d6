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

struct SqliteAnswer {
  Code code;
  Disposition disposition;
  std::string_view hint;
};

// What SQLite says about an enqueue, for the application that holds the transaction.
SqliteAnswer SqliteAnswerFor(int primary) {
  using enum Disposition;
  switch (primary) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Code::kUnavailable, kRetry,
              "set sqlite3_busy_timeout, and BEGIN IMMEDIATE for transactions that write"};
    case SQLITE_FULL: return {Code::kUnavailable, kRetry, "free space on the file system"};
    case SQLITE_IOERR: return {Code::kUnavailable, kRetry, "look at the disk"};
    case SQLITE_NOMEM: return {Code::kUnavailable, kRetry, "there is no memory left"};
    case SQLITE_CANTOPEN:
    case SQLITE_PROTOCOL:
      return {Code::kUnavailable, kRetry,
              "check the permissions of the file and its folder, and that its locks work"};
    case SQLITE_INTERRUPT:
      return {Code::kDeadline, kRetry, "it was interrupted; run the whole transaction again"};
    case SQLITE_SCHEMA:
      return {Code::kConflict, kRetry, "the schema was changed; run the whole transaction again"};
    case SQLITE_CONSTRAINT:
      return {Code::kInvalidArgument, kPermanent, "the message says which rule was broken"};
    case SQLITE_TOOBIG: return {Code::kInvalidArgument, kPermanent, "send less at once"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {Code::kPermission, kPermanent,
              "open the file for writing, with write permission for it and its folder"};
    case SQLITE_ERROR:
      return {Code::kNotFound, kPermanent,
              "create the table with: outboxd migrate up --table TABLE"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return {Code::kInternal, kPermanent, "the file is damaged, or no database"};
    default: return {Code::kInternal, kRetry, "run the whole transaction again"};
  }
}

Status Classify(sqlite3* database) {
  const int code = sqlite3_extended_errcode(database);
  const std::string text =
      base::StrCat("enqueue: ", base::CleanError(sqlite3_errmsg(database), 300));
  const SqliteAnswer answer =
      IsOfAnotherSchema(code, text)
          ? SqliteAnswer{Code::kSchema, Disposition::kPermanent,
                         "the table is not an outbox table; see outboxd migrate status"}
          : SqliteAnswerFor(code & 0xFF);
  // Some errors end the transaction, and what follows would be written on its own.
  const bool ended = sqlite3_get_autocommit(database) != 0;
  return Status(answer.code, answer.disposition, text)
      .WithHint(base::StrCat(
          answer.hint,
          ended ? "; SQLite has rolled the whole transaction back: begin it again" : ""))
      .WithNative(base::StrCat("SQLite ", code));
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
