// ConnectionSlot: a place for one connection that is opened when needed and replaced after a
// failure.
//
// A file that was moved away or replaced under it (a restored backup) is noticed within a second of
// use: that call fails once, and the next opens the file that has the path then.
//
// Threads: used by one thread at a time; it may be handed from one to another.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "outbox/deadline.h"
#include "outbox/status.h"
#include "store/sqlite/classify_error.h"
#include "store/sqlite/connection.h"

namespace outbox::store::sqlite {

class ConnectionSlot {
 public:
  using Prepare = std::function<Status(Connection&)>;

  // `prepare` runs on each new connection before it is used.
  explicit ConnectionSlot(std::string path, Prepare prepare = nullptr)
      : path_(std::move(path)), prepare_(std::move(prepare)) {}

  // Calls `work(connection)`, which returns a Status or a Result, within the deadline. A connection
  // on which something failed is closed: what is open on it is rolled back, and the next call opens
  // another one.
  template <typename Work>
  auto Use(Deadline deadline, Work&& work) -> decltype(work(std::declval<Connection&>())) {
    OUTBOX_RETURN_IF_ERROR(Open(deadline));
    auto result = work(*connection_);
    if (!result.ok()) connection_.reset();
    return result;
  }

  void Close() noexcept { connection_.reset(); }

 private:
  Status Open(Deadline deadline) {
    OUTBOX_RETURN_IF_ERROR(LeaveMovedFile());
    if (connection_ == nullptr) {
      OUTBOX_ASSIGN_OR_RETURN(auto opened, Connection::Open(path_, OpenMode::kExisting, deadline));
      if (prepare_) OUTBOX_RETURN_IF_ERROR(prepare_(*opened));
      connection_ = std::move(opened);
    }
    connection_->set_deadline(deadline);
    return Status::Ok();
  }

  Status LeaveMovedFile() {
    const auto now = std::chrono::steady_clock::now();
    if (connection_ == nullptr || now - looked_ < kBetweenLooks) return Status::Ok();
    looked_ = now;
    if (!connection_->moved()) return Status::Ok();
    connection_.reset();
    return ClassifyError(SQLITE_READONLY_DBMOVED, path_, "");
  }

  static constexpr std::chrono::milliseconds kBetweenLooks{1000};

  std::string path_;
  Prepare prepare_;
  std::chrono::steady_clock::time_point looked_{};
  std::unique_ptr<Connection> connection_;
};

}  // namespace outbox::store::sqlite
