// PostgresMigrator: the schema of outbox tables, and what they share.
//
// Up and Down are one transaction each, under one advisory lock for the database: two processes
// take turns, and the second finds nothing to do.
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
  Result<std::vector<int>> Up(const MigrateOptions& options, Deadline deadline) override;
  Result<std::vector<int>> Down(const MigrateOptions& options, Deadline deadline) override;
  Result<std::string> Print(const MigrateOptions& options) override;
  Result<std::vector<std::string>> Tables(Deadline deadline) override;

 private:
  Status Begin(Deadline deadline);
  // Commits when `result` is a success, rolls back otherwise; the first failure is returned.
  Result<std::vector<int>> End(Result<std::vector<int>> result, Deadline deadline);

  Result<std::vector<int>> UpInTransaction(const message::TableName& table,
                                           const MigrateOptions& options, Deadline deadline);
  Result<std::vector<int>> DownInTransaction(const message::TableName& table,
                                             const MigrateOptions& options, Deadline deadline);
  Status ForgetDropped(const message::TableName& table, Deadline deadline);
  Status UpdateShared(Deadline deadline);
  // What Up did to the table before its switches are applied.
  struct Change {
    bool created = false;
    bool upgraded = false;
  };
  Status ApplySwitches(const message::TableName& table, const MigrateOptions& options,
                       Change change, Deadline deadline);
  Status RefuseUndelivered(const message::TableName& table, Deadline deadline);
  Status ForgetHolds(const message::TableName& table, Deadline deadline);
  // Whether the schema `outbox` has this table.
  Result<bool> SharedExists(std::string_view name, Deadline deadline);

  Connection connection_;
};

}  // namespace outbox::store::postgres
