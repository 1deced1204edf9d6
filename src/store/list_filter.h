// ListFilter: which messages a list shows, and RepairTarget: which ones a repair touches.
//
// Thread-safety: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/message.h"
#include "outbox/status.h"
#include "store/audit.h"
#include "store/scope.h"

namespace outbox::store {

// What a list can be narrowed to: the states of a message, with pending in three cuts.
enum class ListStatus : std::uint8_t {
  kPending,     // waiting, tried before or not
  kNew,         // pending, never tried
  kFailed,      // pending, with attempts behind it: waits for a retry
  kProcessing,  // leased, or split and waiting for its deliveries
  kDelivered,
  kDead,
  kAll,  // every state; of a tenant or an aggregate only
};

// "pending", "new", "failed", "processing", "delivered", "dead", "all".
std::string_view ToString(ListStatus status) noexcept;
std::optional<ListStatus> ParseListStatus(std::string_view text) noexcept;

inline constexpr std::size_t kListLimitMax = 10'000;
// Payloads may be large: what a page holds of them is bounded by its rows.
inline constexpr std::size_t kWholeLimitMax = 1000;
inline constexpr std::size_t kFilterTextBytesMax = 255;

struct ListFilter {
  // No status: everything but delivered, that is the backlog and the dead; of an aggregate, its
  // whole history.
  std::optional<ListStatus> status;
  std::string topic;           // or a pattern of topics (message/validate.h); empty is any
  std::string aggregate_type;  // with aggregate_id: the history of one aggregate
  std::string aggregate_id;
  std::string key;
  std::optional<Timestamp> created_from;   // at or after
  std::optional<Timestamp> created_until;  // before
  std::string error_contains;              // part of last_error, as it is written there
  std::size_t limit = 50;
  std::string after;   // ListPage::next of the page before
  bool whole = false;  // with payload and headers; then at most kWholeLimitMax rows
};

// Rows of one status, failed or dead, oldest first (dead) or next due first (failed). To be
// retried, dead are also those with a dead delivery, whatever becomes of the others; they come
// last, and their errors are found as "sink: error".
struct RepairFilter {
  ListStatus status = ListStatus::kDead;
  std::string topic;  // or a pattern of topics; empty is any
  std::optional<Timestamp> created_from;
  std::optional<Timestamp> created_until;
  std::string error_contains;
};

// Which rows a repair touches: ids, or those of a filter.
struct RepairTarget {
  std::vector<Uuid> ids;
  std::optional<RepairFilter> filter;  // then ids are not looked at
  std::optional<Audit> audit;          // when rows change, record who asked for it
};

// kInvalidArgument, naming the field: text that is too long or not UTF-8, a limit over
// kListLimitMax (kWholeLimitMax), kAll without a tenant or an aggregate; for repairs a status that
// can not be repaired.
Status Validate(const ListFilter& filter, const Scope& scope);
Status Validate(const RepairTarget& target);

// How a ListStatus looks in a row: the column `status`, and whether attempts > 0 where that
// matters.
struct StatusColumns {
  std::optional<std::string_view> status;
  std::optional<bool> tried;
};
StatusColumns ColumnsOf(std::optional<ListStatus> status) noexcept;

}  // namespace outbox::store
