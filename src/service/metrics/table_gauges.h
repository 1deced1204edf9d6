// TableGauges: the last counts of each table, as gauges.
//
// A failure to ask leaves the last counts in place for a while, so that a short one does not make
// alerts forget; after kSamplesKept intervals without an answer they are absent rather than wrong.
// outbox_sample_age_seconds{table} always says how old they are, and goes on when they are gone.
//
// Threads: any.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "store/inspect_store.h"

namespace outbox::service {

class TableGauges final : public prometheus::Collectable {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  static constexpr int kSamplesKept = 3;

  // Without a clock it is the system's.
  explicit TableGauges(std::chrono::milliseconds sample_interval, Clock clock = nullptr);

  void Set(std::string_view table, const store::TableStats& stats);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  struct Sample {
    store::TableStats stats;
    std::chrono::steady_clock::time_point at;
  };

  const std::chrono::milliseconds age_max_;
  const Clock clock_;
  mutable std::mutex mutex_;
  std::map<std::string, Sample, std::less<>> samples_;  // guarded by mutex_; one per table
};

}  // namespace outbox::service
