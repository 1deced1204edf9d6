#include "service/api/relay_board.h"

#include "base/json_object.h"

namespace outbox::service {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

std::string ToJson(const RelaySeen& relay) {
  base::JsonObject json;
  AddTo(json, relay);
  return json.Finish();
}

void AddTo(base::JsonObject& json, const RelaySeen& relay) {
  json.Add("name", relay.name)
      .Add("table", relay.table())
      .Add("state", ToString(relay.state))
      .AddUnlessEmpty("why", relay.why);
  if (relay.leading) json.Add("leading", *relay.leading);
  json.Add("claimed", relay.claimed)
      .Add("delivered", relay.delivered)
      .Add("retried", relay.retried)
      .Add("dead", relay.dead)
      .Add("released", relay.released)
      .Add("lost", relay.lost)
      .Add("store_errors", relay.store_errors);
}

template <typename Change>
RelaySeen RelayBoard::Apply(std::string_view relay, Change change) {
  const std::lock_guard lock(mutex_);
  auto found = relays_.find(relay);
  if (found == relays_.end()) {
    found = relays_.emplace(std::string(relay), RelaySeen{.name = std::string(relay)}).first;
  }
  change(found->second);
  return found->second;
}

template <typename Change>
void RelayBoard::ApplyIfKnown(std::string_view relay, Change change) {
  const std::lock_guard lock(mutex_);
  const auto found = relays_.find(relay);
  if (found != relays_.end()) change(found->second);
}

std::vector<RelaySeen> RelayBoard::Relays() const {
  const std::lock_guard lock(mutex_);
  std::vector<RelaySeen> relays;
  for (const auto& [name, relay] : relays_) relays.push_back(relay);
  return relays;
}

void RelayBoard::OnStateChanged(std::string_view relay, RelayState state, std::string_view why) {
  const RelaySeen seen = Apply(relay, [&](RelaySeen& changed) {
    changed.state = state;
    changed.state_since = Clock::now();
    changed.why = why;
  });
  if (on_change_) on_change_(seen);
}

void RelayBoard::OnLeaderChanged(std::string_view relay, bool leading) {
  const RelaySeen seen = Apply(relay, [&](RelaySeen& changed) { changed.leading = leading; });
  if (on_change_) on_change_(seen);
}

void RelayBoard::OnClaimed(std::string_view relay, std::size_t count, Duration) {
  ApplyIfKnown(relay, [&](RelaySeen& changed) {
    changed.claimed += count;
    changed.last_claim = Clock::now();
  });
}

void RelayBoard::OnSettled(std::string_view relay, const SettleCounts& counts, Duration) {
  ApplyIfKnown(relay, [&](RelaySeen& changed) {
    changed.delivered += counts.delivered;
    changed.retried += counts.retried;
    changed.dead += counts.dead;
    changed.released += counts.released;
    changed.lost += counts.lost;
    const std::size_t outcomes =
        counts.delivered + counts.retried + counts.dead + counts.released + counts.lost;
    if (outcomes > 0) changed.last_settle = Clock::now();
  });
}

void RelayBoard::OnStoreError(std::string_view relay, std::string_view, const Status&, Duration) {
  ApplyIfKnown(relay, [](RelaySeen& changed) { ++changed.store_errors; });
}

}  // namespace outbox::service
