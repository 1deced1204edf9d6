// ScratchDatabase: an empty database of a test's own, and a folder beside it.
#pragma once

#include <memory>
#include <string>

#include "outbox/enqueue.h"

namespace outbox::testing {

class ScratchDatabase {
 public:
  // On the shared PostgreSQL server (see OUTBOX_REQUIRE_POSTGRES), or a path for a new SQLite file.
  // Null, with the reason on standard error, when it could not be made.
  static std::unique_ptr<ScratchDatabase> Make(Dialect dialect);
  // On a PostgreSQL server of the test's own.
  static std::unique_ptr<ScratchDatabase> MakeAt(const std::string& server);
  // Drops the database and removes the folder.
  ~ScratchDatabase();
  ScratchDatabase(const ScratchDatabase&) = delete;
  ScratchDatabase& operator=(const ScratchDatabase&) = delete;

  Dialect dialect() const { return database_.empty() ? Dialect::kSqlite : Dialect::kPostgres; }
  const std::string& url() const { return url_; }
  const std::string& folder() const { return folder_; }

 private:
  ScratchDatabase() = default;

  std::string url_;
  std::string folder_;
  std::string server_;
  std::string database_;  // to be dropped; empty for SQLite
};

}  // namespace outbox::testing
