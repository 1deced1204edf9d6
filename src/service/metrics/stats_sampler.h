// StatsSampler: asks each table for its counts at an interval, so that a scrape need not.
//
// The counts are those of `outboxd stats`: exact up to ten thousand rows and estimated above that,
// so that the question stays cheap with ten million rows kept.
//
// Threads: one of its own. Start and Stop may be called from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "outbox/deadline.h"
#include "outbox/observer.h"
#include "outbox/status.h"
#include "service/metrics/metrics_observer.h"
#include "store/inspect_store.h"

namespace outbox::service {

// Called by the sampler's thread only, and always with a deadline.
using AskStats = std::function<Result<store::TableStats>(Deadline)>;

// Asks `store`, which is the sampler's from then on.
AskStats AskStatsOf(std::shared_ptr<store::InspectStore> store);

struct SampledTable {
  std::string table;  // its display name, as in Message::table
  AskStats ask;
};

class StatsSampler {
 public:
  // Asks for the first time at once. A question that fails is told to `observer`, which may be
  // null, as the operation "stats"; what becomes of the gauges then, table_gauges.h says.
  static std::unique_ptr<StatsSampler> Start(std::vector<SampledTable> tables,
                                             std::chrono::milliseconds interval,
                                             std::shared_ptr<MetricsObserver> metrics,
                                             std::shared_ptr<RelayObserver> observer);
  // Stops.
  ~StatsSampler();

  // Returns when the question under way, if any, has been answered: within kAskTimeout.
  void Stop();

  static constexpr std::chrono::seconds kAskTimeout{5};

 private:
  StatsSampler(std::vector<SampledTable> tables, std::chrono::milliseconds interval,
               std::shared_ptr<MetricsObserver> metrics, std::shared_ptr<RelayObserver> observer);

  void Run();
  void Ask(const SampledTable& table);
  // False when asked to stop.
  bool Sleep();
  bool Stopping();

  const std::vector<SampledTable> tables_;
  const std::chrono::milliseconds interval_;
  const std::shared_ptr<MetricsObserver> metrics_;
  const std::shared_ptr<RelayObserver> observer_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace outbox::service
