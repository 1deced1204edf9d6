// MetricsOptions: whether and where metrics are offered, and how many series they may become.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "outbox/status.h"

namespace outbox::service {

struct MetricsOptions {
  // PROMETHEUS_METRICS_ENABLED
  bool enabled = true;
  // Where the service answers a scrape. PROMETHEUS_METRICS_PATH
  std::string path = "/metrics";
  // Distinct topics that get series of their own, in one process; the rest is counted as "other".
  // Each topic costs some 30 series per table it is delivered from.
  std::size_t topics_max = 200;
  // How often each table is asked for its counts. A scrape never asks the database.
  std::chrono::milliseconds sample_interval{std::chrono::seconds(10)};

  // The first problem, naming its field and the remedy.
  Status Validate() const;
};

}  // namespace outbox::service
