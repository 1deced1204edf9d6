// Core: what all connections of a server share.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "service/http/connections.h"
#include "service/http/cors.h"
#include "service/http/options.h"
#include "service/http/request_observer.h"
#include "service/http/workers.h"

namespace outbox::service {

// Each part synchronises itself. Outlives every connection, which hold it.
struct Core {
  Core(ServerOptions given, std::shared_ptr<RequestObserver> watching)
      : options(std::move(given)),
        cors(options.cors_origins),
        observer(std::move(watching)),
        connections(options.limits.connections_max, options.limits.connections_per_address_max),
        workers(options.worker_threads, options.worker_queue_max),
        apart(kApartThreads, kApartQueueMax) {}

  static constexpr std::size_t kApartThreads = 2;
  static constexpr std::size_t kApartQueueMax = 16;

  const ServerOptions options;
  const Cors cors;
  const std::shared_ptr<RequestObserver> observer;  // may be null
  Connections connections;
  std::atomic<bool> stopping = false;
  Workers workers;
  Workers apart;  // RouteOptions::apart
};

}  // namespace outbox::service
