#include "demo/monitor.h"

#include <utility>

#include "base/text.h"

namespace outbox::demo {

void Monitor::Tell(std::string text) {
  const std::lock_guard lock(mutex_);
  TellLocked(std::move(text));
}

void Monitor::TellLocked(std::string text) {
  incidents_.push_front({.at = Elapsed(), .text = std::move(text)});
  if (incidents_.size() > kIncidentsKept) incidents_.pop_back();
}

RelayView Monitor::relay() const {
  const std::lock_guard lock(mutex_);
  return relay_;
}

std::vector<Incident> Monitor::Incidents() const {
  const std::lock_guard lock(mutex_);
  return {incidents_.begin(), incidents_.end()};
}

std::chrono::milliseconds Monitor::Elapsed() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               began_);
}

void Monitor::OnStateChanged(std::string_view, RelayState state, std::string_view why) {
  const std::lock_guard lock(mutex_);
  relay_.state = state;
  relay_.why = why;
  if (state == RelayState::kWaitingForSink) ++relay_.outages;
  TellLocked(why.empty() ? base::StrCat("relay: ", base::InWords(ToString(state)))
                         : base::StrCat("relay: ", base::InWords(ToString(state)), ", ", why));
}

void Monitor::OnSettled(std::string_view, const SettleCounts& counts, Duration) {
  const std::lock_guard lock(mutex_);
  relay_.retried += counts.retried;
  relay_.released += counts.released;
}

void Monitor::OnDead(const Message& message, const Status& result) {
  ledger_.OnDead(message);
  Tell(base::StrCat("dead: #", message.seq, ", ", result.message()));
}

void Monitor::OnStoreError(std::string_view, std::string_view operation, const Status& error,
                           Duration) {
  Tell(base::StrCat("database: ", operation, ": ", error.ToString()));
}

void Monitor::OnNotice(std::string_view, std::string_view text) { Tell(std::string(text)); }

}  // namespace outbox::demo
