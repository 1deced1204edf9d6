#include "service/metrics/http_series.h"

#include <string>

#include "service/metrics/families.h"

namespace outbox::service {
namespace {

// Half a millisecond to the ten seconds that a handler has.
const prometheus::Histogram::BucketBoundaries& HttpBuckets() { return DatabaseBuckets(); }

prometheus::Gauge& AddHttpGauge(prometheus::Registry& registry, const char* name,
                                const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

std::string ClassOf(int status) {
  return status >= 100 && status < 600 ? std::to_string(status / 100) + "xx" : "other";
}

}  // namespace

HttpSeries::HttpSeries(prometheus::Registry& registry)
    : requests_(AddCounter(registry, "outbox_http_requests_total", "Requests that were answered.")),
      duration_(AddHistogram(registry, "outbox_http_request_duration_seconds",
                             "From a request's first byte to its answer's last.")),
      displaced_(AddCounter(registry, "outbox_http_connections_displaced_total",
                            "Connections that waited for their client and made room for others.")
                     .Add({})),
      turned_away_(AddCounter(registry, "outbox_http_connections_refused_total",
                              "Connections for which there was no room.")
                       .Add({})),
      connections_(AddHttpGauge(registry, "outbox_http_connections", "Connections that are open.")),
      streams_(AddHttpGauge(registry, "outbox_http_event_streams",
                            "Listeners of the live events that are connected.")) {}

void HttpSeries::Request(std::string_view method, std::string_view route, int status,
                         std::optional<Duration> took) {
  const std::string pattern(route.empty() ? "other" : route);
  const std::string verb(method);
  requests_.Add({{"route", pattern}, {"method", verb}, {"status", ClassOf(status)}}).Increment();
  if (!took) return;
  duration_.Add({{"route", pattern}, {"method", verb}}, HttpBuckets()).Observe(Seconds(*took));
}

void HttpSeries::Connections(int change) { connections_.Increment(change); }
void HttpSeries::Streams(int change) { streams_.Increment(change); }
void HttpSeries::Displaced() { displaced_.Increment(); }
void HttpSeries::TurnedAway() { turned_away_.Increment(); }

}  // namespace outbox::service
