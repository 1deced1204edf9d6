// PostgresMigrator: the schema of outbox tables, and what they share.
//
// Up and Down are one transaction each, under one advisory lock for the database: two processes
// take turns, and the second finds nothing to do. A table in use is waited for in short turns:
// while a migration waits for its lock, everybody who comes later waits behind it.
//
// Threads: one at a time.
#pragma once

#include <memory>
#include <string_view>

#include "message/table_name.h"
#include "store/migrator.h"
#include "store/postgres/connection.h"

namespace outbox::store::postgres {

class PostgresMigrator final : public Migrator {
 public:
  explicit PostgresMigrator(std::shared_ptr<const Address> address);

  Status Open(Deadline deadline) { return connection_.Open(deadline); }

  Result<TableSchema> Inspect(const std::string& table, Deadline deadline) override;
  Result<Migrated> Up(const MigrateOptions& options, Deadline deadline) override;
  Result<std::vector<int>> Down(const MigrateOptions& options, Deadline deadline) override;
  Result<std::vector<std::string>> Tables(Deadline deadline) override;

 private:
  template <typename Value>
  using Work = Result<Value> (PostgresMigrator::*)(const message::TableName& table,
                                                   const MigrateOptions& options,
                                                   Deadline deadline);

  // Runs `work` in a transaction; again when it found the table in use, until the deadline. Then
  // the error says who uses it.
  template <typename Value>
  Result<Value> InTransaction(Work<Value> work, const MigrateOptions& options, Deadline deadline);
  Status Begin(Deadline deadline);
  // Commits when `work` is a success, rolls back otherwise; the first failure is returned.
  Status End(const Status& work, Deadline deadline);
  Status ExplainBlocked(const message::TableName& table, const Status& status);

  Result<Migrated> UpInTransaction(const message::TableName& table, const MigrateOptions& options,
                                   Deadline deadline);
  Result<std::vector<int>> DownInTransaction(const message::TableName& table,
                                             const MigrateOptions& options, Deadline deadline);
  Status ForgetDropped(const message::TableName& table, Deadline deadline);
  Status UpdateShared(Deadline deadline);
  // Gives the SQL functions a branch for each table there is. Call it after the records changed.
  Status WriteEnqueue(Deadline deadline);
  // The options of a table.
  struct Switches {
    bool strict = false;
    bool notify = false;
    bool isolated = false;
  };
  Result<Switches> ReadSwitches(const message::TableName& table, Deadline deadline);
  // What Up did to the table before its switches are applied.
  struct Change {
    bool created = false;
    bool upgraded = false;
  };
  Result<std::vector<Switch>> ApplySwitches(const message::TableName& table,
                                            const MigrateOptions& options, Change change,
                                            Deadline deadline);
  Status RefuseUndelivered(const message::TableName& table, Deadline deadline);
  Status ForgetPauses(const message::TableName& table, Deadline deadline);
  // Whether the schema `outbox` has this table.
  Result<bool> SharedExists(std::string_view name, Deadline deadline);

  Connection connection_;
};

}  // namespace outbox::store::postgres
