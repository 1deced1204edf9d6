// SteadyStore: a session with the database that may be lost without a caller noticing.
//
// A read that fails because the database can not be reached is done once more, in a new session and
// within the same deadline. What changes rows is never repeated. After a failure that says anything
// about the session it is `broken`: it must not be kept. Failures are ours, as store_error.h says.
//
// Threads: one at a time.
#pragma once

#include <functional>
#include <memory>

#include "store/inspect_store.h"

namespace outbox::service {

class SteadyStore final : public store::InspectStore {
 public:
  using Open = std::function<Result<std::unique_ptr<store::InspectStore>>(Deadline)>;

  SteadyStore(std::unique_ptr<store::InspectStore> session, Open open)
      : session_(std::move(session)), open_(std::move(open)) {}

  bool broken() const noexcept { return broken_; }

  Result<store::ListPage> List(const store::Scope& scope, const store::ListFilter& filter,
                               Deadline deadline) override;
  Result<store::NumberedPage> ListNumbered(const store::Scope& scope,
                                           const store::ListFilter& filter, std::size_t number,
                                           Deadline deadline) override;
  Result<std::optional<store::StoredMessage>> Get(const store::Scope& scope, const Uuid& id,
                                                  Deadline deadline) override;
  Result<std::vector<store::Attempt>> Attempts(const store::Scope& scope, const Uuid& id,
                                               Deadline deadline) override;
  Result<store::TableStats> Stats(const store::Scope& scope, bool exact,
                                  Deadline deadline) override;
  Result<store::RepairResult> RetryOne(const store::Scope& scope, const Uuid& id,
                                       const store::Audit* audit, Deadline deadline) override;
  Result<store::RepairResult> DeleteOne(const store::Scope& scope, const Uuid& id,
                                        const store::Audit* audit, Deadline deadline) override;
  Result<std::size_t> Retry(const store::Scope& scope, const store::RepairTarget& target,
                            bool dry_run, std::size_t limit, Deadline deadline) override;
  Result<std::size_t> Delete(const store::Scope& scope, const store::RepairTarget& target,
                             bool dry_run, std::size_t limit, Deadline deadline) override;

 private:
  template <typename Call>
  auto Ask(Call call);
  template <typename Call>
  auto Once(Call call);
  template <typename Call>
  auto Again(Deadline deadline, Call call);

  std::unique_ptr<store::InspectStore> session_;
  const Open open_;
  bool broken_ = false;
};

}  // namespace outbox::service
