// HttpSeries: what the HTTP service is asked, and who is connected to it.
//
// Labels are the route's pattern, the method and the class of the status; what met no route is
// "other". So their number is bounded by the routes there are, whatever clients send.
//
// Threads: any.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <optional>
#include <string_view>

#include "outbox/observer.h"

namespace outbox::service {

class HttpSeries {
 public:
  using Duration = RelayObserver::Duration;

  // `registry` outlives it.
  explicit HttpSeries(prometheus::Registry& registry);

  // No `took` for an event stream: how long somebody listened is no duration of a request.
  void Request(std::string_view method, std::string_view route, int status,
               std::optional<Duration> took);
  void Connections(int change);
  void Streams(int change);
  void Displaced();
  void TurnedAway();

 private:
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Histogram>& duration_;
  prometheus::Counter& displaced_;
  prometheus::Counter& turned_away_;
  prometheus::Gauge& connections_;
  prometheus::Gauge& streams_;
};

}  // namespace outbox::service
