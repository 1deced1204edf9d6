// PostgresInspectStore: what operators and tenants ask of a table.
//
// In a tenant's scope each statement names the tenant, and runs in a transaction that names it too:
// where the table has tenant isolation (common/table_isolation_on.sql), the server itself then
// shows no other rows.
//
// Threads: one at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "message/table_name.h"
#include "store/inspect_store.h"
#include "store/postgres/connection.h"
#include "store/postgres/list_query.h"

namespace outbox::store::postgres {

// How much work the counts of a table are: some ten milliseconds.
struct StatsLimits {
  std::int64_t counted = 10'000;  // rows of each kind that are counted; above it they are estimated
  std::int64_t pages = 500;       // read for an estimate
  std::int64_t pages_closer = 2'000;  // the same, where few rows of the first were live
};

class PostgresInspectStore final : public InspectStore {
 public:
  PostgresInspectStore(std::shared_ptr<const Address> address, message::TableName table,
                       StatsLimits limits = {});

  Status Check(Deadline deadline);

  Result<ListPage> List(const Scope& scope, const ListFilter& filter, Deadline deadline) override;
  Result<NumberedPage> ListNumbered(const Scope& scope, const ListFilter& filter,
                                    std::size_t number, Deadline deadline) override;
  Result<std::optional<StoredMessage>> Get(const Scope& scope, const Uuid& id,
                                           Deadline deadline) override;
  Result<std::vector<Attempt>> Attempts(const Scope& scope, const Uuid& id,
                                        Deadline deadline) override;
  Result<TableStats> Stats(const Scope& scope, bool exact, Deadline deadline) override;
  Result<RepairResult> RetryOne(const Scope& scope, const Uuid& id, const Audit* audit,
                                Deadline deadline) override;
  Result<RepairResult> DeleteOne(const Scope& scope, const Uuid& id, const Audit* audit,
                                 Deadline deadline) override;
  Result<std::size_t> Retry(const Scope& scope, const RepairTarget& target, bool dry_run,
                            std::size_t limit, Deadline deadline) override;
  Result<std::size_t> Delete(const Scope& scope, const RepairTarget& target, bool dry_run,
                             std::size_t limit, Deadline deadline) override;

 private:
  struct Repair {
    const char* action;
    std::string_view by_id;
    std::string_view filtered;
    bool dry_run;
    std::size_t limit;
  };

  // A statement that changes rows, and how it is recorded.
  struct Change {
    const char* action;
    std::string_view sql;
    const Params& params;
    const Audit* audit;                   // null: not recorded
    std::size_t (*changed)(const Rows&);  // how many rows it changed
  };

  // Runs one statement in the scope, planned by index.
  Result<Rows> Ask(const Scope& scope, std::string_view sql, const Params& params,
                   Deadline deadline);
  // The same for a change, with its record in the same transaction.
  Result<Rows> Do(const Scope& scope, const Change& change, Deadline deadline);
  Result<Rows> DoInTransaction(const Scope& scope, const Change& change, Deadline deadline);
  Result<TableStats> StatsOfTable(bool exact, Deadline deadline);
  Result<TableStats> StatsOfTenant(const Scope& scope, bool exact, Deadline deadline);
  Result<std::optional<ListPosition>> FindPlace(const Scope& scope, const ListQuery& query,
                                                std::size_t rows, Deadline deadline);
  Result<ListPage> ReadPage(const Scope& scope, const ListQuery& query, std::size_t limit,
                            std::size_t offset, Deadline deadline);
  Result<RepairResult> RepairOne(const Scope& scope, const Repair& repair, const Uuid& id,
                                 const Audit* audit, Deadline deadline);
  Result<std::size_t> RepairMany(const Scope& scope, const RepairTarget& target,
                                 const Repair& repair, Deadline deadline);

  const message::TableName table_;
  const std::string table_display_;
  const StatsLimits limits_;
  Connection connection_;
  // Why this role may not ask in everybody's scope; a role without that right still sees what it
  // names a tenant for.
  Status all_rows_;
};

}  // namespace outbox::store::postgres
