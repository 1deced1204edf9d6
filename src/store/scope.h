// Scope: whose rows a call may see and touch.
//
// Every call of InspectStore carries one, so that a store that was used for one tenant can be used
// for the next without being reset; there is no default that could be forgotten.
//
// Thread-safety: a value.
#pragma once

#include <optional>

#include "outbox/uuid.h"

namespace outbox::store {

class Scope {
 public:
  // Every row: operators, the command line.
  static Scope All() noexcept { return Scope(std::nullopt); }
  // The rows of one tenant; all others, also those of no tenant, do not exist.
  static Scope Tenant(const Uuid& id) noexcept { return Scope(id); }

  const std::optional<Uuid>& tenant() const noexcept { return tenant_; }

 private:
  explicit Scope(const std::optional<Uuid>& tenant) noexcept : tenant_(tenant) {}

  std::optional<Uuid> tenant_;
};

}  // namespace outbox::store
