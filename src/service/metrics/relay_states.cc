#include "service/metrics/relay_states.h"

#include <array>

#include "service/metrics/gauge_families.h"

namespace outbox::service {
namespace {

constexpr std::array kStates{
    RelayState::kStarting, RelayState::kRunning,  RelayState::kStandby, RelayState::kWaitingForSink,
    RelayState::kPaused,   RelayState::kDraining, RelayState::kStopped};

}  // namespace

RelayStates::Relay& RelayStates::RelayOf(std::string_view name) {
  const auto found = relays_.find(name);
  if (found != relays_.end()) return found->second;
  return relays_.emplace(name, Relay{.labels = LabelsOfRelay(name)}).first->second;
}

void RelayStates::StateChanged(std::string_view relay, RelayState state) {
  const std::lock_guard lock(mutex_);
  Relay& changed = RelayOf(relay);
  changed.state = state;
  switch (state) {
    case RelayState::kRunning: changed.sink_up = true; break;
    case RelayState::kWaitingForSink: changed.sink_up = false; break;
    case RelayState::kStandby:
      changed.sink_up.reset();
      // A relay that never led is told of nothing but its standing by.
      changed.leading = false;
      break;
    case RelayState::kStopped:
      changed.sink_up.reset();
      if (changed.leading) changed.leading = false;
      break;
    case RelayState::kPaused: changed.sink_up.reset(); break;
    case RelayState::kStarting:
    case RelayState::kDraining: break;
  }
}

void RelayStates::LeaderChanged(std::string_view relay, bool leading) {
  const std::lock_guard lock(mutex_);
  RelayOf(relay).leading = leading;
}

std::vector<prometheus::MetricFamily> RelayStates::Collect() const {
  GaugeFamilies families;
  std::map<std::string, bool> leaders;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, relay] : relays_) {
    const auto& [table, sink] = relay.labels;
    for (const RelayState state : kStates) {
      families.Add("outbox_relay_state", "1 for the state that a relay is in.",
                   {{"table", table}, {"sink", sink}, {"state", ToString(state)}},
                   relay.state == state ? 1 : 0);
    }
    if (relay.sink_up) {
      families.Add("outbox_sink_up", "1 unless a relay waits for a sink that is down.",
                   {{"table", table}, {"sink", sink}}, *relay.sink_up ? 1 : 0);
    }
    if (relay.leading) leaders[table] |= *relay.leading;
  }
  for (const auto& [table, leads] : leaders) {
    families.Add("outbox_relay_leader", "1 while this process leads the table (single-active).",
                 {{"table", table}}, leads ? 1 : 0);
  }
  return families.Take();
}

}  // namespace outbox::service
