// Shorthands for making families of series, and the buckets that histograms share.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

#include "outbox/observer.h"

namespace outbox::service {

inline prometheus::Family<prometheus::Counter>& AddCounter(prometheus::Registry& registry,
                                                           const std::string& name,
                                                           const std::string& help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

inline prometheus::Family<prometheus::Histogram>& AddHistogram(prometheus::Registry& registry,
                                                               const std::string& name,
                                                               const std::string& help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

// A statement of the database: half a millisecond to ten seconds.
inline const prometheus::Histogram::BucketBoundaries& DatabaseBuckets() {
  static const auto& kBuckets = *new prometheus::Histogram::BucketBoundaries{
      0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
  return kBuckets;
}

inline double Seconds(RelayObserver::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace outbox::service
