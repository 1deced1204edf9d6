#include "service/metrics/stats_sampler.h"

#include <utility>

namespace outbox::service {

AskStats AskStatsOf(std::shared_ptr<store::InspectStore> store) {
  return [store = std::move(store)](Deadline deadline) {
    return store->Stats(store::Scope::All(), false, deadline);
  };
}

StatsSampler::StatsSampler(std::vector<SampledTable> tables, std::chrono::milliseconds interval,
                           std::shared_ptr<MetricsObserver> metrics,
                           std::shared_ptr<RelayObserver> observer)
    : tables_(std::move(tables)),
      interval_(interval),
      metrics_(std::move(metrics)),
      observer_(observer != nullptr ? std::move(observer) : std::make_shared<RelayObserver>()) {}

std::unique_ptr<StatsSampler> StatsSampler::Start(std::vector<SampledTable> tables,
                                                  std::chrono::milliseconds interval,
                                                  std::shared_ptr<MetricsObserver> metrics,
                                                  std::shared_ptr<RelayObserver> observer) {
  std::unique_ptr<StatsSampler> sampler(
      new StatsSampler(std::move(tables), interval, std::move(metrics), std::move(observer)));
  sampler->thread_ = std::thread([self = sampler.get()] { self->Run(); });
  return sampler;
}

StatsSampler::~StatsSampler() { Stop(); }

void StatsSampler::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void StatsSampler::Run() {
  do {
    for (const SampledTable& table : tables_) {
      if (Stopping()) return;
      Ask(table);
    }
  } while (Sleep());
}

void StatsSampler::Ask(const SampledTable& table) {
  const auto stats = table.ask(Deadline::After(kAskTimeout));
  if (stats.ok()) {
    metrics_->OnStats(table.table, *stats);
  } else {
    observer_->OnStoreError(table.table, "stats", stats.error(), interval_);
  }
}

bool StatsSampler::Sleep() {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, interval_, [&] { return stopping_; });
}

bool StatsSampler::Stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

}  // namespace outbox::service
