#include "service/api/steady_store.h"

#include <utility>

#include "service/api/store_error.h"

namespace outbox::service {
namespace {

bool SaysNothingOfTheSession(Code code) {
  switch (code) {
    case Code::kUnavailable:
    case Code::kDeadline:
    case Code::kInternal: return false;
    default: return true;
  }
}

}  // namespace

template <typename Call>
auto SteadyStore::Ask(Call call) {
  auto result = call(*session_);
  if (!SaysNothingOfTheSession(result.error().code())) broken_ = true;
  return result;
}

template <typename Call>
auto SteadyStore::Once(Call call) {
  return FromStore(Ask(call));
}

template <typename Call>
auto SteadyStore::Again(Deadline deadline, Call call) {
  auto result = Ask(call);
  if (result.error().code() != Code::kUnavailable || deadline.passed()) return FromStore(result);
  auto opened = open_(deadline);
  if (!opened.ok()) return FromStore(result);
  session_ = *std::move(opened);
  broken_ = false;
  return Once(call);
}

Result<store::ListPage> SteadyStore::List(const store::Scope& scope,
                                          const store::ListFilter& filter, Deadline deadline) {
  return Again(deadline, [&](auto& session) { return session.List(scope, filter, deadline); });
}

Result<store::NumberedPage> SteadyStore::ListNumbered(const store::Scope& scope,
                                                      const store::ListFilter& filter,
                                                      std::size_t number, Deadline deadline) {
  return Again(deadline, [&](auto& session) {
    return session.ListNumbered(scope, filter, number, deadline);
  });
}

Result<std::optional<store::StoredMessage>> SteadyStore::Get(const store::Scope& scope,
                                                             const Uuid& id, Deadline deadline) {
  return Again(deadline, [&](auto& session) { return session.Get(scope, id, deadline); });
}

Result<std::vector<store::Attempt>> SteadyStore::Attempts(const store::Scope& scope, const Uuid& id,
                                                          Deadline deadline) {
  return Again(deadline, [&](auto& session) { return session.Attempts(scope, id, deadline); });
}

Result<store::TableStats> SteadyStore::Stats(const store::Scope& scope, bool exact,
                                             Deadline deadline) {
  return Again(deadline, [&](auto& session) { return session.Stats(scope, exact, deadline); });
}

Result<store::RepairResult> SteadyStore::RetryOne(const store::Scope& scope, const Uuid& id,
                                                  const store::Audit* audit, Deadline deadline) {
  return Once([&](auto& session) { return session.RetryOne(scope, id, audit, deadline); });
}

Result<store::RepairResult> SteadyStore::DeleteOne(const store::Scope& scope, const Uuid& id,
                                                   const store::Audit* audit, Deadline deadline) {
  return Once([&](auto& session) { return session.DeleteOne(scope, id, audit, deadline); });
}

Result<std::size_t> SteadyStore::Retry(const store::Scope& scope, const store::RepairTarget& target,
                                       bool dry_run, std::size_t limit, Deadline deadline) {
  const auto call = [&](auto& session) {
    return session.Retry(scope, target, dry_run, limit, deadline);
  };
  return dry_run ? Again(deadline, call) : Once(call);
}

Result<std::size_t> SteadyStore::Delete(const store::Scope& scope,
                                        const store::RepairTarget& target, bool dry_run,
                                        std::size_t limit, Deadline deadline) {
  const auto call = [&](auto& session) {
    return session.Delete(scope, target, dry_run, limit, deadline);
  };
  return dry_run ? Again(deadline, call) : Once(call);
}

}  // namespace outbox::service
