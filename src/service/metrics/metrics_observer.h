// MetricsObserver: everything relays do, counted, and written out for Prometheus.
//
//   auto metrics = std::make_shared<MetricsObserver>(options);
//   Relay::Start(database, relay_options, sink, metrics);      // or the Supervisor
//   auto sampler = StatsSampler::Start(tables, options.sample_interval, metrics, log);
//   response.body = metrics->Exposition();
//
// It is an EnqueueObserver too: what enqueues in this process names it in its EnqueueOptions, and
// outbox_enqueue_total counts that. Messages that applications enqueue elsewhere are not seen; they
// show up in outbox_pending. docs/reference/metrics.md lists every metric.
//
// Never a payload, an id, a tenant or an error text: labels are table, topic, sink, route and words
// of the program's own. Topics are bounded by MetricsOptions::topics_max.
//
// Threads: any. Shared with the relays, which may outlive the service.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "outbox/enqueue.h"
#include "outbox/observer.h"
#include "service/metrics/options.h"
#include "store/inspect_store.h"

namespace outbox::service {

class MetricsObserver final : public RelayObserver, public EnqueueObserver {
 public:
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  // Without a clock it is the system's.
  explicit MetricsObserver(const MetricsOptions& options = {}, const Clock& clock = nullptr);
  ~MetricsObserver() override;

  // All metrics in Prometheus' text format, families and series in a fixed order. Reads /proc, and
  // nothing else: no database, no network.
  std::string Exposition() const;

  // The counts of a table, told by the StatsSampler. `table` is its display name.
  void OnStats(std::string_view table, const store::TableStats& stats);

  // What the HTTP server did: a request it answered (its route's pattern, empty when it met none;
  // no `took` for event streams), how many connections and event streams more or fewer there are,
  // and a connection that it had no room for.
  void OnHttpRequest(std::string_view method, std::string_view route, int status,
                     std::optional<Duration> took);
  void OnHttpConnections(int change);
  void OnHttpStreams(int change);
  void OnHttpDisplaced();
  void OnHttpTurnedAway();

  void OnEnqueued(std::string_view table, std::string_view topic, bool already_enqueued) override;

  void OnStateChanged(std::string_view table, RelayState state, std::string_view why) override;
  void OnLeaderChanged(std::string_view table, bool leading) override;
  void OnClaimed(std::string_view table, std::size_t count, Duration took) override;
  void OnPublished(const Message& message, const Status& result, Duration took) override;
  void OnSettled(std::string_view table, const SettleCounts& counts, Duration took) override;
  void OnDead(const Message& message, const Status& result) override;
  void OnLeaseLost(const Message& message) override;
  void OnSplit(std::string_view table, std::size_t messages, std::size_t deliveries,
               std::size_t unrouted, Duration took) override;
  void OnStoreError(std::string_view table, std::string_view operation, const Status& error,
                    Duration retry_in) override;
  void OnPurged(std::string_view table, const PurgeCounts& counts, Duration took) override;

 private:
  struct Series;
  const std::unique_ptr<Series> series_;
};

}  // namespace outbox::service
