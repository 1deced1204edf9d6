#include "service/api/tables.h"

#include <algorithm>

#include "base/text.h"
#include "service/api/store_error.h"

namespace outbox::service {
namespace {

std::vector<std::string> DisplayNames(const store::Backend& backend,
                                      std::vector<std::string> names) {
  for (std::string& name : names) name = backend.DisplayName(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

Tables::Tables(store::Backend& backend, std::vector<std::string> names)
    : backend_(backend), names_(DisplayNames(backend, std::move(names))) {}

bool Tables::Has(std::string_view table) const {
  return std::find(names_.begin(), names_.end(), table) != names_.end();
}

Result<Tables::Session> Tables::Borrow(std::string_view table, Deadline deadline) {
  const std::string name = backend_.DisplayName(std::string(table));
  if (!Has(name)) {
    return Status::Permanent(Code::kNotFound, "There is no such table")
        .WithHint(base::StrCat("The tables are ", base::Join(names_, ", "), "."));
  }
  {
    const std::lock_guard lock(mutex_);
    if (auto& idle = idle_[name]; !idle.empty()) {
      auto store = std::move(idle.back());
      idle.pop_back();
      return Session(*this, name, std::move(store));
    }
  }
  OUTBOX_ASSIGN_OR_RETURN(auto store, FromStore(backend_.OpenInspect(name, deadline)));
  return Session(*this, name,
                 std::make_unique<SteadyStore>(
                     std::move(store), [this, name](Deadline by) { return OpenAnew(name, by); }));
}

// Where one session was lost, those that wait were lost with it.
Result<std::unique_ptr<store::InspectStore>> Tables::OpenAnew(const std::string& table,
                                                              Deadline deadline) {
  decltype(idle_) dropped;
  {
    const std::lock_guard lock(mutex_);
    dropped.swap(idle_);
  }
  return backend_.OpenInspect(table, deadline);
}

void Tables::GiveBack(const std::string& table, std::unique_ptr<SteadyStore> store) {
  if (store->broken()) return;
  const std::lock_guard lock(mutex_);
  auto& idle = idle_[table];
  if (idle.empty() || IdleLocked() < names_.size() + kMoreIdleMax) idle.push_back(std::move(store));
}

std::size_t Tables::idle() const {
  const std::lock_guard lock(mutex_);
  return IdleLocked();
}

std::size_t Tables::IdleLocked() const {
  std::size_t count = 0;
  for (const auto& [table, idle] : idle_) count += idle.size();
  return count;
}

}  // namespace outbox::service
