#include "store/sqlite/backend.h"

#include <utility>

#include "store/sqlite/clean_store.h"
#include "store/sqlite/control_store.h"
#include "store/sqlite/inspect_store.h"
#include "store/sqlite/migrator.h"
#include "store/sqlite/relay_store.h"
#include "store/sqlite/session.h"
#include "store/sqlite/split_store.h"
#include "store/sqlite/table.h"

namespace outbox::store {
namespace {

class SqliteBackend final : public Backend {
 public:
  explicit SqliteBackend(std::string path) : path_(std::move(path)) {}

  Dialect dialect() const noexcept override { return Dialect::kSqlite; }
  std::string description() const override { return path_; }
  bool local() const override { return true; }

  Result<std::unique_ptr<RelayStore>> OpenRelay(const RelayStoreOptions& options,
                                                Deadline deadline) override {
    return sqlite::OpenRelayStore(path_, options, deadline);
  }
  Result<std::unique_ptr<SplitStore>> OpenSplit(const SplitOptions& options,
                                                Deadline deadline) override {
    return sqlite::OpenSplitStore(path_, options, deadline);
  }
  Result<std::unique_ptr<InspectStore>> OpenInspect(const std::string& table,
                                                    Deadline deadline) override {
    return sqlite::OpenInspectStore(path_, table, deadline);
  }
  Result<std::unique_ptr<CleanStore>> OpenClean(const std::string& table,
                                                Deadline deadline) override {
    return sqlite::OpenCleanStore(path_, table, deadline);
  }
  std::unique_ptr<ControlStore> OpenControl() override { return sqlite::OpenControlStore(path_); }
  Result<std::unique_ptr<Migrator>> OpenMigrator(Deadline) override {
    return sqlite::MakeMigrator(path_);
  }
  Result<std::string> PrintMigration(const MigrateOptions& options,
                                     const PrintOptions& print) const override {
    return sqlite::PrintMigration(options, print);
  }
  Result<std::unique_ptr<Session>> OpenSession(Deadline deadline) override {
    return sqlite::OpenSession(path_, deadline);
  }

 private:
  std::string path_;
};

}  // namespace

Result<std::unique_ptr<Backend>> OpenSqlite(const std::string& path) {
  if (path.empty() || path.starts_with(":memory:")) {
    return Status::Invalid("sqlite: needs the path of a file")
        .WithHint("write sqlite:PATH; an in-memory database can not be shared with a producer");
  }
  // SQLite could read "file:" as a URI; here a path is a path.
  return std::unique_ptr<Backend>(
      std::make_unique<SqliteBackend>(path.starts_with("file:") ? "./" + path : path));
}

}  // namespace outbox::store
