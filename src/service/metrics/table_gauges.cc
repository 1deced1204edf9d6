#include "service/metrics/table_gauges.h"

#include <utility>

#include "service/metrics/gauge_families.h"
#include "service/metrics/labels.h"

namespace outbox::service {
namespace {

using Seconds = std::chrono::duration<double>;

void AddStats(GaugeFamilies& families, std::string_view table, const store::TableStats& stats) {
  const auto add = [&](std::string_view name, std::string_view help, double value) {
    families.Add(name, help, {{"table", table}}, value);
  };
  add("outbox_pending", "Messages that wait, due or not.", static_cast<double>(stats.pending));
  add("outbox_due",
      "Messages that may be delivered now, and deliveries of messages with several sinks.",
      static_cast<double>(stats.due));
  add("outbox_retrying", "Of the pending messages, those with failed attempts.",
      static_cast<double>(stats.retrying));
  add("outbox_locked", "Messages that a relay holds, or that wait for their deliveries.",
      static_cast<double>(stats.processing));
  add("outbox_stale_locks", "Of the locked messages, those whose lease has expired.",
      static_cast<double>(stats.stale));
  add("outbox_dead_messages", "Messages that are dead and kept.", static_cast<double>(stats.dead));
  add("outbox_backlog_estimated",
      "1 while the counts of pending and locked messages are estimates.",
      stats.live_estimated ? 1 : 0);
  add("outbox_dead_messages_estimated", "1 while the count of dead messages is an estimate.",
      stats.dead_estimated ? 1 : 0);
  add("outbox_oldest_age_seconds",
      "For how long the oldest that could be claimed now has been due; 0 when none is.",
      Seconds(stats.oldest_age.value_or(std::chrono::milliseconds(0))).count());
}

}  // namespace

TableGauges::TableGauges(std::chrono::milliseconds sample_interval, Clock clock)
    : age_max_(sample_interval * kSamplesKept),
      clock_(clock ? std::move(clock) : Clock(std::chrono::steady_clock::now)) {}

void TableGauges::Set(std::string_view table, const store::TableStats& stats) {
  const Sample sample{stats, clock_()};
  const std::lock_guard lock(mutex_);
  samples_.insert_or_assign(CleanLabel(table), sample);
}

std::vector<prometheus::MetricFamily> TableGauges::Collect() const {
  const auto now = clock_();
  GaugeFamilies families;
  const std::lock_guard lock(mutex_);
  for (const auto& [table, sample] : samples_) {
    const auto age = now - sample.at;
    families.Add("outbox_sample_age_seconds", "Time since the table's counts were last read.",
                 {{"table", table}}, Seconds(age).count());
    if (age <= age_max_) AddStats(families, table, sample.stats);
  }
  return families.Take();
}

}  // namespace outbox::service
