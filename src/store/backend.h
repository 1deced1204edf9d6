// Backend: one database, opened by its address, and the parts of it that each reader needs.
//
// `OpenBackend` is the only function that knows which databases exist.
//
// Threads: a backend may be used from several threads at once; what it opens has its own rules.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "outbox/deadline.h"
#include "outbox/enqueue.h"
#include "outbox/status.h"
#include "store/clean_store.h"
#include "store/control_store.h"
#include "store/inspect_store.h"
#include "store/migrator.h"
#include "store/relay_store.h"
#include "store/split_store.h"

namespace outbox::store {

// A connection of our own on which to enqueue (CLI, demo, benchmark); applications use theirs.
class Session {
 public:
  virtual ~Session() = default;
  virtual Executor& executor() = 0;
  // Without a deadline each statement has its own, of some minutes; with one, none outlasts it.
  virtual Status Begin(std::optional<Deadline> deadline = std::nullopt) = 0;
  virtual Status Commit() = 0;
  virtual void Rollback() noexcept = 0;
  // Runs a statement of the caller's own (the demo's business rows).
  virtual Status Execute(const std::string& sql) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual Dialect dialect() const noexcept = 0;
  // For people: host, port and database name, or the file's path; never a password.
  virtual std::string description() const = 0;
  // How a table is called in Message::table, logs and labels: "public.orders_outbox" on PostgreSQL,
  // "orders_outbox" on SQLite. The text itself when it is not a valid name.
  std::string DisplayName(const std::string& table) const;
  // True for loopback addresses, unix sockets and files.
  virtual bool local() const = 0;

  // Each checks that the table exists with a schema version this program knows (kNotFound,
  // kSchema).
  virtual Result<std::unique_ptr<RelayStore>> OpenRelay(const RelayStoreOptions& options,
                                                        Deadline deadline) = 0;
  virtual Result<std::unique_ptr<SplitStore>> OpenSplit(const SplitOptions& options,
                                                        Deadline deadline) = 0;
  virtual Result<std::unique_ptr<InspectStore>> OpenInspect(const std::string& table,
                                                            Deadline deadline) = 0;
  virtual Result<std::unique_ptr<CleanStore>> OpenClean(const std::string& table,
                                                        Deadline deadline) = 0;

  // Connects at its first call.
  virtual std::unique_ptr<ControlStore> OpenControl() = 0;

  virtual Result<std::unique_ptr<Migrator>> OpenMigrator(Deadline deadline) = 0;
  // The statements of Migrator::Up, for teams with a migration tool of their own. Needs no
  // connection.
  virtual Result<std::string> PrintMigration(const MigrateOptions& options,
                                             const PrintOptions& print) const = 0;
  virtual Result<std::unique_ptr<Session>> OpenSession(Deadline deadline) = 0;
};

// `postgres://…`, `postgresql://…` or a libpq DSN ("host=… dbname=…"); `sqlite:PATH`. Parses the
// address; the first connection is made by the first Open call.
Result<std::unique_ptr<Backend>> OpenBackend(const std::string& address);

}  // namespace outbox::store
