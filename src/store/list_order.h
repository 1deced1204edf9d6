// List order: in which order a list goes, by which index, and how the place where a page ends is
// written down. The same for every backend.
#pragma once

#include <cstdint>
#include <string>

#include "outbox/status.h"
#include "store/list_filter.h"

namespace outbox::store {

enum class ListOrder : char {
  kLive = 'l',       // not delivered: next due first, the dead at the end
  kDelivered = 'd',  // newest first
  kAggregate = 'a',  // the history of one aggregate, newest first
  kTenant = 't',     // of one tenant, newest first
};

ListOrder OrderOf(const ListFilter& filter, const Scope& scope) noexcept;

// Which of a tenant's rows a list is about; each has an index.
struct TenantRows {
  bool live = false;
  bool delivered = false;
};
TenantRows TenantRowsOf(const ListFilter& filter) noexcept;

// True when rows have to be looked at one by one, because the order's index does not decide which
// are shown. Then a call looks at a bounded number of rows.
bool LooksAtRows(const ListFilter& filter, const Scope& scope) noexcept;

// After a row: its place in the order. `at` is in the backend's unit; 0 in the orders by seq alone.
struct ListPosition {
  std::int64_t at = 0;
  std::int64_t seq = 0;
};

// "<order>.<at>.<seq>"
std::string WritePosition(ListOrder order, const ListPosition& position);
// The first position for an empty text. kInvalidArgument when it is not of a list in this order.
Result<ListPosition> ReadPosition(ListOrder order, const std::string& text);

// Pages by number reach this far; beyond it is the cursor's work.
inline constexpr std::size_t kNumberedRowsMax = 1'000'000;

// How many rows come before page `number`. kInvalidArgument when it is 0 or beyond
// kNumberedRowsMax, or when the list is not one of a tenant.
Result<std::size_t> OffsetOf(std::size_t number, const ListFilter& filter, const Scope& scope);

}  // namespace outbox::store
