#include "store/sqlite/connection.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/text.h"
#include "message/validate.h"
#include "store/sqlite/classify_error.h"

namespace outbox::store::sqlite {
namespace {

using std::chrono::milliseconds;

// Between two looks at a lock that another connection holds. Writers hold it for the time of an
// fsync, so short looks come first.
constexpr milliseconds kBusyWaitMin{1};
constexpr milliseconds kBusyWaitMax{10};
// Virtual-machine instructions between two looks at the clock, well under a millisecond.
constexpr int kInstructionsPerLook = 5000;

Status MissingFile(const std::string& path) {
  return Status::Permanent(Code::kNotFound, base::StrCat("sqlite '", path, "': no such file"))
      .WithHint("check the path, or create the database: outboxd migrate up --table T");
}

bool Missing(const std::string& path) noexcept {
  struct stat ignored;
  return stat(path.c_str(), &ignored) != 0 && errno == ENOENT;
}

// SQL: outbox_topic_matches(pattern, topic).
void TopicMatches(sqlite3_context* context, int, sqlite3_value** values) noexcept {
  const auto text = [&](int i) {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_value_text(values[i]));
    return std::string_view(bytes == nullptr ? "" : bytes,
                            static_cast<std::size_t>(sqlite3_value_bytes(values[i])));
  };
  const std::string_view pattern = text(0);
  sqlite3_result_int(context, message::TopicMatches(pattern, text(1)) ? 1 : 0);
}

// Messages are for their application alone: nobody else may read a file that we make. The files
// beside it get the same rights from SQLite.
void CreatePrivate(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  // If it fails, SQLite will, and tells why.
  if (file >= 0) close(file);
}

}  // namespace

Connection::Connection(DatabaseHandle handle, std::string path)
    : handle_(std::move(handle)), path_(std::move(path)), deadline_(Deadline::After({})) {}

Result<std::unique_ptr<Connection>> Connection::Open(const std::string& path, OpenMode mode,
                                                     Deadline deadline) {
  if (mode == OpenMode::kExisting && Missing(path)) return MissingFile(path);
  if (mode == OpenMode::kCreate) CreatePrivate(path);
  const int create = mode == OpenMode::kCreate ? SQLITE_OPEN_CREATE : 0;
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | create, nullptr);
  DatabaseHandle handle(raw);
  if (code != SQLITE_OK) {
    return ClassifyError(raw == nullptr ? code : sqlite3_extended_errcode(raw), path,
                         sqlite3_errstr(code));
  }
  std::unique_ptr<Connection> connection(new Connection(std::move(handle), path));
  connection->set_deadline(deadline);
  OUTBOX_RETURN_IF_ERROR(connection->Configure());
  return connection;
}

Status Connection::Configure() {
  sqlite3_extended_result_codes(handle_.get(), 1);
  sqlite3_busy_handler(handle_.get(), WaitWhileBusy, this);
  sqlite3_progress_handler(handle_.get(), kInstructionsPerLook, StopAtDeadline, this);
  if (sqlite3_create_function_v2(handle_.get(), "outbox_topic_matches", 2,
                                 SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr, TopicMatches, nullptr,
                                 nullptr, nullptr) != SQLITE_OK) {
    return LastError();
  }
  OUTBOX_RETURN_IF_ERROR(EnterWal());
  return Execute("PRAGMA synchronous = FULL");
}

Status Connection::RelaxDurability() {
  OUTBOX_ASSIGN_OR_RETURN(const bool wal, InWal());
  return wal ? Execute("PRAGMA synchronous = NORMAL") : Status::Ok();
}

Result<bool> Connection::InWal() {
  OUTBOX_ASSIGN_OR_RETURN(Query current, Prepare("PRAGMA journal_mode"));
  OUTBOX_ASSIGN_OR_RETURN(const bool found, current.Step());
  const bool wal = found && current.Text(0) == "wal";
  current.Reset();
  return wal;
}

Status Connection::EnterWal() {
  OUTBOX_ASSIGN_OR_RETURN(const bool wal, InWal());
  if (wal) return Status::Ok();
  // A read-only database can still be inspected; whoever needs to write is told then.
  if (read_only()) return Status::Ok();
  // SQLite does not call the busy handler for this switch, as two that wait could wait for ever.
  Status status = Execute("PRAGMA journal_mode = WAL");
  while ((sqlite3_errcode(handle_.get()) & 0xff) == SQLITE_BUSY && !deadline_.passed()) {
    std::this_thread::sleep_for(kBusyWaitMax);
    status = Execute("PRAGMA journal_mode = WAL");
  }
  return status;
}

Result<Query> Connection::Prepare(std::string_view sql) {
  const auto known = statements_.find(sql);
  if (known != statements_.end()) return Query(*this, known->second.get());
  sqlite3_stmt* raw = nullptr;
  sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                     SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (raw == nullptr) return LastError();
  statements_.emplace(sql, StatementHandle(raw));
  return Query(*this, raw);
}

Status Connection::Execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status::Ok() : LastError();
}

Status Connection::LastError() const {
  return ClassifyError(sqlite3_extended_errcode(handle_.get()), path_,
                       sqlite3_errmsg(handle_.get()));
}

bool Connection::moved() const noexcept {
  int moved = 0;
  return sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
         moved != 0;
}

Status Connection::Begin() { return Execute("BEGIN IMMEDIATE"); }

Status Connection::Commit() {
  const int code = sqlite3_exec(handle_.get(), "COMMIT", nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) return Status::Ok();
  Status status = ClassifyCommitError(sqlite3_extended_errcode(handle_.get()), path_,
                                      sqlite3_errmsg(handle_.get()));
  Rollback();
  return status;
}

void Connection::Rollback() noexcept {
  // Some errors roll back by themselves; then there is nothing left to do.
  if (in_transaction()) sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

int Connection::WaitWhileBusy(void* self, int calls) noexcept {
  const Deadline deadline = static_cast<Connection*>(self)->deadline_;
  if (deadline.passed()) return 0;
  const milliseconds wait = std::min(kBusyWaitMin * (calls / 4 + 1), kBusyWaitMax);
  std::this_thread::sleep_for(std::min(wait, deadline.remaining()));
  return 1;
}

int Connection::StopAtDeadline(void* self) noexcept {
  return static_cast<Connection*>(self)->deadline_.passed() ? 1 : 0;
}

}  // namespace outbox::store::sqlite
