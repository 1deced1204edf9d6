// InspectStore of a MemoryStore: the same answers as the databases', found by looking at every row.
//
// Lifetime: must not outlive its MemoryStore. Threads: any.
#pragma once

#include <functional>
#include <vector>

#include "store/inspect_store.h"
#include "store/list_order.h"
#include "store/memory/memory_store.h"

namespace outbox::store {

class MemoryInspectStore final : public InspectStore {
 public:
  explicit MemoryInspectStore(MemoryStore& store) : store_(store) {}

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
  // With the store's mutex held. The list's rows, in its order.
  std::vector<const StoredMessage*> Sorted(const Scope& scope, const ListFilter& filter) const;
  // The rows of a repair, in its order.
  std::vector<std::int64_t> Targets(const Scope& scope, const RepairTarget& target,
                                    bool never_tried_too) const;
  void Reset(std::int64_t seq);

  enum class Kind : std::uint8_t { kRetry, kDelete };
  void Change(Kind kind, std::int64_t seq);
  void Record(Kind kind, const Audit& audit, std::size_t changed);
  Result<RepairResult> RepairOne(const Scope& scope, const Uuid& id, Kind kind, const Audit* audit);
  Result<std::size_t> Repair(const Scope& scope, const RepairTarget& target, bool dry_run,
                             std::size_t limit, Kind kind);

  MemoryStore& store_;
};

}  // namespace outbox::store
