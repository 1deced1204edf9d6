#include "store/inspect_store.h"

namespace outbox::store {

TenantStats ToTenantStats(const TableStats& stats) noexcept {
  return {.pending = stats.pending - stats.retrying,
          .processing = stats.processing,
          .completed = stats.delivered,
          .failed = stats.retrying,
          .dead = stats.dead,
          .total = stats.pending + stats.processing + stats.delivered + stats.dead,
          .capped = stats.capped || !stats.delivered_exact};
}

}  // namespace outbox::store
