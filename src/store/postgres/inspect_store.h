// PostgresInspectStore: what operators ask of a table.
//
// Threads: one at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "message/table_name.h"
#include "store/inspect_store.h"
#include "store/postgres/connection.h"

namespace outbox::store::postgres {

class PostgresInspectStore final : public InspectStore {
 public:
  PostgresInspectStore(std::shared_ptr<const Address> address, message::TableName table);

  Status Check(Deadline deadline);

  Result<ListPage> List(const ListFilter& filter, Deadline deadline) override;
  Result<std::optional<StoredMessage>> Get(const Uuid& id, Deadline deadline) override;
  Result<TableStats> Stats(bool exact, Deadline deadline) override;
  Result<std::size_t> Retry(const RepairTarget& target, bool dry_run, std::size_t limit,
                            Deadline deadline) override;
  Result<std::size_t> Delete(const RepairTarget& target, bool dry_run, std::size_t limit,
                             Deadline deadline) override;

 private:
  Result<std::size_t> Repair(const RepairTarget& target, std::string_view by_id,
                             std::string_view all_dead, bool dry_run, std::size_t limit,
                             Deadline deadline);

  const message::TableName table_;
  const std::string table_display_;
  Connection connection_;
};

}  // namespace outbox::store::postgres
