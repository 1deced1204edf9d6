#include "service/api/request_watch.h"

namespace outbox::service {

void RequestWatch::OnRequest(const RequestRecord& record) {
  std::optional<MetricsObserver::Duration> took;
  if (!record.stream) took = std::chrono::duration_cast<MetricsObserver::Duration>(record.took);
  metrics_->OnHttpRequest(record.method, record.route, record.status, took);
  log_.OnRequest(record);
}

void RequestWatch::OnConnections(int change) { metrics_->OnHttpConnections(change); }
void RequestWatch::OnStreams(int change) { metrics_->OnHttpStreams(change); }
void RequestWatch::OnDisplaced() { metrics_->OnHttpDisplaced(); }
void RequestWatch::OnTurnedAway() { metrics_->OnHttpTurnedAway(); }

}  // namespace outbox::service
