// RelayStates: where each relay of this process stands, as gauges.
//
//   outbox_relay_state{table,sink,state}  1 for the state it is in, 0 for the others
//   outbox_relay_leader{table}            with single-active only: 1 while a relay of it leads here
//   outbox_sink_up{table,sink}            0 while it is down, 1 while running; absent while
//   standing by
//                                         or stopped, when the relay can not know
//
// Threads: any.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/observer.h"
#include "service/metrics/labels.h"

namespace outbox::service {

class RelayStates final : public prometheus::Collectable {
 public:
  void StateChanged(std::string_view relay, RelayState state);
  void LeaderChanged(std::string_view relay, bool leading);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  struct Relay {
    RelayLabels labels;
    RelayState state = RelayState::kStarting;
    std::optional<bool> leading;  // no value: not single-active, as far as we know
    std::optional<bool> sink_up;
  };

  // With mutex_ held.
  Relay& RelayOf(std::string_view name);

  mutable std::mutex mutex_;
  std::map<std::string, Relay, std::less<>> relays_;  // guarded by mutex_; one per relay
};

}  // namespace outbox::service
