// Monitor: an observer of the demo's relay. Keeps its state, its counts and a short chronicle of
// what happened, for the view.
//
// Threads: every method may be called from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "demo/ledger.h"
#include "outbox/observer.h"

namespace outbox::demo {

// One line of the chronicle.
struct Incident {
  std::chrono::milliseconds at{0};  // since the demo began
  std::string text;
};

struct RelayView {
  RelayState state = RelayState::kStarting;
  std::string why;             // of an outage
  std::uint64_t retried = 0;   // settled to be tried again
  std::uint64_t released = 0;  // given back without an attempt counted
  std::uint64_t outages = 0;
};

class Monitor final : public RelayObserver {
 public:
  static constexpr std::size_t kIncidentsKept = 16;

  explicit Monitor(Ledger& ledger) : ledger_(ledger) {}

  // Adds a line to the chronicle.
  void Tell(std::string text);

  RelayView relay() const;
  // Newest first.
  std::vector<Incident> Incidents() const;
  std::chrono::milliseconds Elapsed() const;

  void OnStateChanged(std::string_view table, RelayState state, std::string_view why) override;
  void OnSettled(std::string_view table, const SettleCounts& counts, Duration took) override;
  void OnDead(const Message& message, const Status& result) override;
  void OnStoreError(std::string_view table, std::string_view operation, const Status& error,
                    Duration retry_in) override;
  void OnNotice(std::string_view table, std::string_view text) override;

 private:
  void TellLocked(std::string text);

  Ledger& ledger_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  RelayView relay_;                 // guarded by mutex_
  std::deque<Incident> incidents_;  // guarded by mutex_
};

}  // namespace outbox::demo
