#include "store/inspect_store.h"

#include <algorithm>

namespace outbox::store {
namespace {

// Stores put what is never due at the end of time: infinity, or the last day that has four digits,
// in any time zone.
constexpr Timestamp kEndOfTime = std::chrono::sys_days(std::chrono::year(9999) / 12 / 30);

}  // namespace

std::optional<Timestamp> AvailableAt(const StoredMessage& stored) noexcept {
  if (stored.message.available_at >= kEndOfTime) return std::nullopt;
  return stored.message.available_at;
}

int AttemptsOf(const StoredMessage& stored) noexcept {
  int attempts = stored.message.attempt;
  for (const Delivery& delivery : stored.deliveries) {
    attempts = std::max(attempts, delivery.attempts);
  }
  return attempts;
}

TenantStats ToTenantStats(const TableStats& stats) noexcept {
  return {.pending = stats.pending - stats.retrying,
          .processing = stats.processing,
          .completed = stats.delivered,
          .failed = stats.retrying,
          .dead = stats.dead,
          .total = stats.pending + stats.processing + stats.delivered + stats.dead,
          .capped = stats.capped || stats.live_estimated || stats.dead_estimated ||
                    stats.delivered_estimated};
}

}  // namespace outbox::store
