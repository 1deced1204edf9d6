// Connection: one SQLite connection in WAL mode with full durability, and its prepared statements.
//
// Every call is bounded by the deadline set last: waiting for another writer's lock (SQLITE_BUSY is
// never reported before) and running a statement alike.
//
// Threads: used by one thread at a time; it may be handed from one to another.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/handle.h"
#include "outbox/deadline.h"
#include "outbox/status.h"
#include "store/sqlite/query.h"

namespace outbox::store::sqlite {

using DatabaseHandle = base::UniqueHandle<sqlite3, sqlite3_close_v2>;
using StatementHandle = base::UniqueHandle<sqlite3_stmt, sqlite3_finalize>;

// Lets statements be looked up by views, without a copy.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>{}(text);
  }
};

enum class OpenMode : std::uint8_t {
  kExisting,  // a missing file is kNotFound
  kCreate,
};

class Connection {
 public:
  // kNotFound, kPermission, kInvalidArgument (not a database), kUnavailable, each with a hint.
  static Result<std::unique_ptr<Connection>> Open(const std::string& path, OpenMode mode,
                                                  Deadline deadline);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void set_deadline(Deadline deadline) noexcept { deadline_ = deadline; }

  // The statement `sql`, compiled at its first use and kept. One Query of a text at a time.
  Result<Query> Prepare(std::string_view sql);
  // Runs one or several statements without parameters.
  Status Execute(const std::string& sql);
  // From now on a commit returns before it is on disk. A power loss may take the last of them away;
  // a crash of the process takes none. Only in WAL mode is that safe for the file, and done.
  Status RelaxDurability();

  // True when the file or its file system allows no writes.
  bool read_only() const noexcept { return sqlite3_db_readonly(handle_.get(), "main") == 1; }
  // True when the path names another file than the one that is open, or none.
  bool moved() const noexcept;
  bool in_transaction() const noexcept { return sqlite3_get_autocommit(handle_.get()) == 0; }
  std::int64_t total_changes() const noexcept { return sqlite3_total_changes64(handle_.get()); }
  // Rows changed by the last statement that changes any, without what triggers did.
  std::int64_t last_changes() const noexcept { return sqlite3_changes64(handle_.get()); }
  Status LastError() const;
  sqlite3* handle() const noexcept { return handle_.get(); }
  const std::string& path() const noexcept { return path_; }

  // BEGIN IMMEDIATE: waits for the write lock, so that nothing later in the transaction can be
  // busy.
  Status Begin();
  // A failed commit has been rolled back, or is in doubt.
  Status Commit();
  void Rollback() noexcept;

 private:
  Connection(DatabaseHandle handle, std::string path);

  Status Configure();
  Status EnterWal();
  Result<bool> InWal();

  // Callbacks of SQLite; `self` is the Connection.
  static int WaitWhileBusy(void* self, int calls) noexcept;
  static int StopAtDeadline(void* self) noexcept;

  DatabaseHandle handle_;
  std::string path_;
  Deadline deadline_;
  // Finalised before the handle closes.
  std::unordered_map<std::string, StatementHandle, TextHash, std::equal_to<>> statements_;
};

// A write transaction for a scope: rolled back unless committed or kept.
class Transaction {
 public:
  static Result<Transaction> Begin(Connection& connection) {
    OUTBOX_RETURN_IF_ERROR(connection.Begin());
    return Transaction(connection);
  }
  Transaction(Transaction&& other) noexcept
      : connection_(std::exchange(other.connection_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction() {
    if (connection_ != nullptr) connection_->Rollback();
  }

  Status Commit() { return std::exchange(connection_, nullptr)->Commit(); }
  // Leaves the transaction open on its connection.
  void Keep() noexcept { connection_ = nullptr; }

 private:
  explicit Transaction(Connection& connection) noexcept : connection_(&connection) {}

  Connection* connection_;
};

}  // namespace outbox::store::sqlite
