// Service: the HTTP service of `outboxd serve`. It looks and repairs; it takes no part in delivery,
// which goes on without it.
//
// Threads: started and stopped by one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "log/logger.h"
#include "outbox/deadline.h"
#include "outbox/status.h"
#include "service/api/options.h"
#include "service/api/relay_board.h"
#include "service/api/relay_switch.h"
#include "service/metrics/metrics_observer.h"
#include "store/backend.h"

namespace outbox::service {

// What the program around it has. References outlive the service.
struct ServiceParts {
  store::Backend& backend;
  std::vector<std::string> tables;    // those it shows
  std::shared_ptr<RelayBoard> board;  // an observer of the relays
  std::shared_ptr<RelaySwitch> relay_switch = std::make_shared<RelaySwitch>();
  std::shared_ptr<MetricsObserver> metrics;  // another
  const log::Logger& logger;
  std::string process;                           // its id, as its heartbeats tell it
  std::string config_json;                       // effective settings, secrets masked
  std::optional<int> notification_attempts_max;  // of the relay of the notification table
};

class Service {
 public:
  // Serves when it returns.
  static Result<std::unique_ptr<Service>> Start(const ServiceOptions& options, ServiceParts parts);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // "http://127.0.0.1:8080", in the order of listen, then admin_listen.
  std::vector<std::string> addresses() const;

  // "GET /api/v1/tables", everything that is offered at any of them.
  std::vector<std::string> routes() const;

  // No new connections; requests under way are finished and streams ended.
  Status Stop(Deadline deadline);

 private:
  struct Running;
  explicit Service(std::unique_ptr<Running> running);

  const std::unique_ptr<Running> running_;
};

}  // namespace outbox::service
