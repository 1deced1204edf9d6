// RelaySeries: what relays, splitters and cleaners do with the database, by table and sink.
//
// Threads: any.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "outbox/observer.h"

namespace outbox::service {

class RelaySeries {
 public:
  using Duration = RelayObserver::Duration;

  // `registry` outlives it.
  explicit RelaySeries(prometheus::Registry& registry);

  // `relay` and `table` are the names that observers are told.
  void Claimed(std::string_view relay, std::size_t count, Duration took);
  void Settled(std::string_view relay, const SettleCounts& counts, Duration took);
  void Split(std::string_view table, std::size_t messages, std::size_t deliveries,
             std::size_t unrouted, Duration took);
  void StoreError(std::string_view relay, std::string_view operation);
  void Purged(std::string_view table, const PurgeCounts& counts);

 private:
  static constexpr std::size_t kOutcomes = 5;  // the members of SettleCounts

  struct Relay {
    prometheus::Counter* claims_empty = nullptr;
    prometheus::Counter* claims_filled = nullptr;
    prometheus::Counter* claimed = nullptr;
    prometheus::Histogram* claim_duration = nullptr;
    std::array<prometheus::Counter*, kOutcomes> settled{};
    prometheus::Histogram* settle_duration = nullptr;
  };
  struct Splitter {
    prometheus::Counter* messages = nullptr;
    prometheus::Counter* deliveries = nullptr;
    prometheus::Counter* unrouted = nullptr;
    prometheus::Histogram* duration = nullptr;
  };

  Relay RelayOf(std::string_view relay);
  Splitter SplitterOf(std::string_view table);

  prometheus::Family<prometheus::Counter>& claims_total_;
  prometheus::Family<prometheus::Counter>& claimed_total_;
  prometheus::Family<prometheus::Histogram>& claim_duration_;
  prometheus::Family<prometheus::Counter>& settled_total_;
  prometheus::Family<prometheus::Histogram>& settle_duration_;
  prometheus::Family<prometheus::Counter>& split_messages_total_;
  prometheus::Family<prometheus::Counter>& split_deliveries_total_;
  prometheus::Family<prometheus::Counter>& unrouted_total_;
  prometheus::Family<prometheus::Histogram>& split_duration_;
  prometheus::Family<prometheus::Counter>& store_errors_total_;
  prometheus::Family<prometheus::Counter>& purged_total_;

  std::mutex mutex_;
  std::map<std::string, Relay, std::less<>> relays_;        // guarded by mutex_; one per relay
  std::map<std::string, Splitter, std::less<>> splitters_;  // guarded by mutex_; one per table
};

}  // namespace outbox::service
