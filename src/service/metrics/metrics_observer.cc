#include "service/metrics/metrics_observer.h"

#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <vector>

#include "outbox/version.h"
#include "service/metrics/http_series.h"
#include "service/metrics/message_series.h"
#include "service/metrics/process_collector.h"
#include "service/metrics/relay_series.h"
#include "service/metrics/relay_states.h"
#include "service/metrics/table_gauges.h"

namespace outbox::service {
namespace {

using Families = std::vector<prometheus::MetricFamily>;

void AppendFamilies(Families& families, const prometheus::Collectable& source) {
  Families more = source.Collect();
  std::move(more.begin(), more.end(), std::back_inserter(families));
}

void Sort(Families& families) {
  std::sort(families.begin(), families.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  for (prometheus::MetricFamily& family : families) {
    std::sort(family.metric.begin(), family.metric.end(),
              [](const auto& a, const auto& b) { return a.label < b.label; });
  }
}

}  // namespace

struct MetricsObserver::Series {
  Series(const MetricsOptions& options, const Clock& clock)
      : messages(registry, options.topics_max, clock),
        relays(registry),
        http(registry),
        tables(options.sample_interval, clock) {
    prometheus::BuildGauge()
        .Name("outbox_build_info")
        .Help("1; the version is a label.")
        .Register(registry)
        .Add({{"version", std::string(Version())}})
        .Set(1);
  }

  prometheus::Registry registry;
  MessageSeries messages;
  RelaySeries relays;
  HttpSeries http;
  RelayStates states;
  TableGauges tables;
  ProcessCollector process;
};

MetricsObserver::MetricsObserver(const MetricsOptions& options, const Clock& clock)
    : series_(std::make_unique<Series>(options, clock)) {}

MetricsObserver::~MetricsObserver() = default;

std::string MetricsObserver::Exposition() const {
  Families families;
  AppendFamilies(families, series_->registry);
  AppendFamilies(families, series_->states);
  AppendFamilies(families, series_->tables);
  AppendFamilies(families, series_->process);
  Sort(families);
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

void MetricsObserver::OnStats(std::string_view table, const store::TableStats& stats) {
  series_->tables.Set(table, stats);
}

void MetricsObserver::OnHttpRequest(std::string_view method, std::string_view route, int status,
                                    std::optional<Duration> took) {
  series_->http.Request(method, route, status, took);
}

void MetricsObserver::OnHttpConnections(int change) { series_->http.Connections(change); }
void MetricsObserver::OnHttpStreams(int change) { series_->http.Streams(change); }
void MetricsObserver::OnHttpDisplaced() { series_->http.Displaced(); }
void MetricsObserver::OnHttpTurnedAway() { series_->http.TurnedAway(); }

void MetricsObserver::OnEnqueued(std::string_view table, std::string_view topic,
                                 bool already_enqueued) {
  if (!already_enqueued) series_->messages.Enqueued(table, topic);
}

void MetricsObserver::OnStateChanged(std::string_view table, RelayState state, std::string_view) {
  series_->states.StateChanged(table, state);
}

void MetricsObserver::OnLeaderChanged(std::string_view table, bool leading) {
  series_->states.LeaderChanged(table, leading);
}

void MetricsObserver::OnClaimed(std::string_view table, std::size_t count, Duration took) {
  series_->relays.Claimed(table, count, took);
}

void MetricsObserver::OnPublished(const Message& message, const Status& result, Duration took) {
  const auto now = std::chrono::floor<Timestamp::duration>(std::chrono::system_clock::now());
  series_->messages.Dispatched(message, result, took, now);
}

void MetricsObserver::OnSettled(std::string_view table, const SettleCounts& counts, Duration took) {
  series_->relays.Settled(table, counts, took);
}

void MetricsObserver::OnDead(const Message& message, const Status&) {
  series_->messages.Dead(message);
}

void MetricsObserver::OnLeaseLost(const Message& message) { series_->messages.LeaseLost(message); }

void MetricsObserver::OnSplit(std::string_view table, std::size_t messages, std::size_t deliveries,
                              std::size_t unrouted, Duration took) {
  series_->relays.Split(table, messages, deliveries, unrouted, took);
}

void MetricsObserver::OnStoreError(std::string_view table, std::string_view operation,
                                   const Status&, Duration) {
  series_->relays.StoreError(table, operation);
}

void MetricsObserver::OnPurged(std::string_view table, const PurgeCounts& counts, Duration) {
  series_->relays.Purged(table, counts);
}

}  // namespace outbox::service
