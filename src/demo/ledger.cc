#include "demo/ledger.h"

#include <algorithm>
#include <set>

namespace outbox::demo {
namespace {

using std::chrono::milliseconds;

milliseconds AgeOf(const Message& message) {
  const auto age = std::chrono::system_clock::now() - message.created_at;
  return std::max(std::chrono::duration_cast<milliseconds>(age), milliseconds::zero());
}

}  // namespace

void Ledger::OnCommitted(const Uuid& id) {
  const std::lock_guard lock(mutex_);
  ++counts_.committed;
  // The relay may have been faster than the news of the commit.
  if (const auto track = tracks_.find(id); track != tracks_.end()) {
    if (track->second.deliveries > 0 || track->second.dead) return;
  }
  waiting_.emplace(id, Clock::now());
}

void Ledger::OnRolledBack() {
  const std::lock_guard lock(mutex_);
  ++counts_.rolled_back;
}

void Ledger::OnDelivered(const Message& message) {
  const std::lock_guard lock(mutex_);
  Track& track = tracks_[message.id];
  Note(message, track.deliveries > 0 ? "delivered again" : "delivered");
  Receive(message, track);
}

void Ledger::OnFailed(const Message& message, std::string_view verdict) {
  const std::lock_guard lock(mutex_);
  Track& track = tracks_[message.id];
  ++track.faults;
  track.attempt = std::max(track.attempt, message.attempt);
  ++counts_.refused;
  Note(message, verdict);
}

void Ledger::OnAnswerLost(const Message& message) {
  const std::lock_guard lock(mutex_);
  Note(message, "answer lost");
  Receive(message, tracks_[message.id]);
}

void Ledger::OnDead(const Message& message) {
  const std::lock_guard lock(mutex_);
  tracks_[message.id].dead = true;
  waiting_.erase(message.id);
  ++counts_.dead;
}

void Ledger::Receive(const Message& message, Track& track) {
  track.attempt = std::max(track.attempt, message.attempt);
  if (++track.deliveries > 1) {
    ++counts_.duplicates;
    return;
  }
  ++counts_.delivered;
  waiting_.erase(message.id);
}

void Ledger::Note(const Message& message, std::string_view verdict) {
  arrivals_.push_front({.seq = message.seq,
                        .topic = message.topic,
                        .key = message.key,
                        .attempt = message.attempt,
                        .age = AgeOf(message),
                        .verdict = std::string(verdict)});
  if (arrivals_.size() > kArrivalsKept) arrivals_.pop_back();
}

LedgerCounts Ledger::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::optional<milliseconds> Ledger::OldestAge() const {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) return std::nullopt;
  return std::chrono::duration_cast<milliseconds>(Clock::now() - waiting_.begin()->second);
}

std::vector<Arrival> Ledger::Arrivals() const {
  const std::lock_guard lock(mutex_);
  return {arrivals_.begin(), arrivals_.end()};
}

Audit Ledger::Compare(const std::vector<Uuid>& order_events) const {
  const std::lock_guard lock(mutex_);
  Audit audit{.committed = order_events.size()};
  const std::set<Uuid> ordered(order_events.begin(), order_events.end());
  for (const Uuid& id : ordered) {
    const auto track = tracks_.find(id);
    const bool arrived =
        track != tracks_.end() && (track->second.deliveries > 0 || track->second.dead);
    if (!arrived) ++audit.lost;
  }
  for (const auto& [id, track] : tracks_) {
    if (track.deliveries > 0 && !ordered.contains(id)) ++audit.phantoms;
    const int judged = track.deliveries + track.faults;
    if (track.attempt > judged) {
      audit.attempts_wasted += static_cast<std::uint64_t>(track.attempt - judged);
    }
  }
  return audit;
}

}  // namespace outbox::demo
