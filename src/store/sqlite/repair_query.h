// Repair query: retry and delete, for one row, for ids or for what a filter takes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "message/table_name.h"
#include "outbox/status.h"
#include "store/inspect_store.h"
#include "store/sqlite/connection.h"

namespace outbox::store::sqlite {

enum class RepairKind : std::uint8_t { kRetry, kDelete };

struct RepairOfOne {
  RepairKind kind;
  const Scope& scope;
  const Uuid& id;
  const Audit* audit;  // null: not recorded
};
// Each is one transaction, the record of the change included; nothing changes where it fails.
Result<RepairResult> RepairOne(Connection& connection, const message::TableName& table,
                               const RepairOfOne& repair);

struct RepairMany {
  RepairKind kind;
  const Scope& scope;
  const RepairTarget& target;
  bool dry_run;
  std::size_t limit;
};
Result<std::size_t> Repair(Connection& connection, const message::TableName& table,
                           const RepairMany& repair);

}  // namespace outbox::store::sqlite
