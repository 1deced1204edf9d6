// Service: the HTTP service of `outboxd serve`. It looks and repairs; it takes no part in delivery,
// which goes on without it.
//
// Threads: started and stopped by one.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
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
  std::set<std::string> limited;      // of those, the ones whose relays have a filter
  std::shared_ptr<RelayBoard> board;  // an observer of the relays
  std::shared_ptr<RelaySwitch> relay_switch = std::make_shared<RelaySwitch>();
  std::shared_ptr<MetricsObserver> metrics;  // another
  // All of the relays' observers: whoever counts rows tells them of its failures. May be null.
  std::shared_ptr<RelayObserver> observers;
  const log::Logger& logger;
  std::string process;                           // its id, as its heartbeats tell it
  std::string config_json;                       // effective settings, secrets masked
  std::optional<int> notification_attempts_max;  // of the relay of the notification table
};

class Service {
 public:
  // What Start would refuse, as far as it can be told from files and the environment.
  struct Finding {
    std::string_view key;  // "service.auth_secret_file"
    Status status;
  };
  static std::vector<Finding> Check(const ServiceOptions& options);
  // Serves when it returns.
  static Result<std::unique_ptr<Service>> Start(const ServiceOptions& options, ServiceParts parts);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // "http://127.0.0.1:8080", in the order of listen, then admin_listen.
  std::vector<std::string> addresses() const;

  // "GET /api/v1/tables", everything that is offered at any of them.
  std::vector<std::string> routes() const;

  // Reads the TLS files again, for connections to come. When they can not be used it goes on with
  // what it has.
  Status ReloadTls();

  // From now on /readyz says that the process is about to end; everything else goes on.
  void BeginStop();
  // No new connections; requests under way are finished and streams ended.
  Status Stop(Deadline deadline);

 private:
  struct Running;
  explicit Service(std::unique_ptr<Running> running);

  const std::unique_ptr<Running> running_;
};

}  // namespace outbox::service
