#include "store/stats_estimate.h"

#include <algorithm>
#include <cmath>

namespace outbox::store {
namespace {

// What `rows` of a sample stand for.
std::int64_t Scaled(std::int64_t rows, const StatsSample& sample) {
  if (sample.parts_read == 0) return 0;
  return std::llround(static_cast<double>(rows) * static_cast<double>(sample.parts) /
                      static_cast<double>(sample.parts_read));
}

// The stretch with live rows, and the parts beside it that were passed over.
SampleRange CloserTo(const StatsSample& sample) {
  SampleRange range{.from = {}, .until = {}, .closer = true};
  if (!sample.first_live || !sample.last_live) return range;
  range.from = std::max<std::int64_t>(*sample.first_live - sample.step, 0);
  range.until = *sample.last_live + sample.step + 1;
  return range;
}

void AddLive(const StatsSample& sample, TableStats& stats) {
  stats.pending += Scaled(sample.rows.pending, sample);
  stats.due += Scaled(sample.rows.due, sample);
  stats.retrying += Scaled(sample.rows.retrying, sample);
  stats.processing += Scaled(sample.rows.processing, sample);
  stats.stale += Scaled(sample.rows.stale, sample);
}

}  // namespace

Result<TableStats> EstimateStats(TableStats counted, const LookAtSample& look) {
  TableStats stats = counted;
  if (!stats.live_estimated && !stats.dead_estimated && !stats.delivered_estimated) return stats;
  OUTBOX_ASSIGN_OR_RETURN(const StatsSample sample, look({}));
  if (stats.dead_estimated) stats.dead = std::max(stats.dead, Scaled(sample.rows.dead, sample));
  if (stats.delivered_estimated) {
    stats.delivered = std::max(stats.delivered, Scaled(sample.rows.delivered, sample));
  }
  if (!stats.live_estimated) return stats;
  const bool whole = sample.parts_read == sample.parts;
  if (whole || sample.rows.pending + sample.rows.processing >= kLiveRowsEnough) {
    AddLive(sample, stats);
    return stats;
  }
  OUTBOX_ASSIGN_OR_RETURN(const StatsSample closer, look(CloserTo(sample)));
  AddLive(closer, stats);
  return stats;
}

}  // namespace outbox::store
