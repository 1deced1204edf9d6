// RequestWatch: what the server tells goes into the access log and into the metrics.
//
// Threads: any.
#pragma once

#include <memory>
#include <utility>

#include "service/http/access_log.h"
#include "service/metrics/metrics_observer.h"

namespace outbox::service {

class RequestWatch final : public RequestObserver {
 public:
  // `logger` outlives it.
  RequestWatch(const log::Logger& logger, std::shared_ptr<MetricsObserver> metrics)
      : log_(logger), metrics_(std::move(metrics)) {}

  void OnRequest(const RequestRecord& record) override;
  void OnConnections(int change) override;
  void OnStreams(int change) override;
  void OnDisplaced() override;
  void OnTurnedAway() override;

 private:
  AccessLog log_;
  const std::shared_ptr<MetricsObserver> metrics_;
};

}  // namespace outbox::service
