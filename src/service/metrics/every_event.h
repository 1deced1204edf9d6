// EveryEvent: tells an observer of everything there is, so that every metric has a series.
#pragma once

#include <chrono>
#include <string>

#include "service/metrics/metrics_observer.h"

namespace outbox::service::testing {

inline Message MessageOf(const std::string& table, const std::string& topic) {
  Message message;
  message.table = table;
  message.topic = topic;
  message.attempt = 1;
  message.created_at = std::chrono::floor<Timestamp::duration>(std::chrono::system_clock::now());
  return message;
}

inline void TellEveryEvent(MetricsObserver& metrics) {
  using namespace std::chrono_literals;
  const std::string table = "public.orders_outbox";
  const Message message = MessageOf(table, "orders.order.created.v1");
  const Status failure = Status::Retry(Code::kUnavailable, "no");
  metrics.OnEnqueued(table, message.topic, false);
  metrics.OnStateChanged(table, RelayState::kRunning, "");
  metrics.OnStateChanged(table + "/rabbit", RelayState::kWaitingForSink, "down");
  metrics.OnLeaderChanged(table, true);
  metrics.OnClaimed(table, 10, 2ms);
  metrics.OnPublished(message, Status::Ok(), 3ms);
  metrics.OnPublished(message, failure, 3ms);
  metrics.OnSettled(table, {.delivered = 1, .retried = 1}, 4ms);
  metrics.OnDead(message, failure);
  metrics.OnLeaseLost(message);
  metrics.OnSplit(table, 3, 5, 1, 1ms);
  metrics.OnStoreError(table, "claim", failure, 1s);
  metrics.OnPurged(table, {.delivered = 7, .dead = 1, .audit = 2}, 1ms);
  metrics.OnNotice(table, "a notice");
  metrics.OnHttpRequest("GET", "/healthz", 200, 1ms);
  metrics.OnHttpConnections(1);
  metrics.OnHttpStreams(1);
  metrics.OnHttpDisplaced();
  metrics.OnHttpTurnedAway();
  metrics.OnStats(table, {.pending = 12,
                          .due = 5,
                          .retrying = 2,
                          .processing = 4,
                          .stale = 1,
                          .dead = 3,
                          .oldest_age = 2500ms});
}

// What a scrape looks like that lacks nothing.
inline std::string ExpositionOfEveryEvent() {
  MetricsObserver metrics;
  TellEveryEvent(metrics);
  return metrics.Exposition();
}

}  // namespace outbox::service::testing
