// Ledger: who committed what and who received what, message by message.
//
// The shop writes what it committed, the sink what it received or refused. From the two come the
// figures of the view and, with the orders the database really holds, the audit at the end.
//
// Threads: every method may be called from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/message.h"

namespace outbox::demo {

// One line of "last messages".
struct Arrival {
  std::int64_t seq = 0;
  std::string topic;
  std::string key;
  int attempt = 0;
  std::chrono::milliseconds age{0};  // since it was enqueued
  std::string verdict;               // "delivered", "refused", …
};

struct LedgerCounts {
  std::uint64_t committed = 0;    // orders, as the shop saw its commits succeed
  std::uint64_t rolled_back = 0;  // orders given up on purpose, their events with them
  std::uint64_t delivered = 0;    // distinct messages
  std::uint64_t duplicates = 0;   // deliveries beyond the first of a message
  std::uint64_t dead = 0;
  std::uint64_t refused = 0;  // attempts the sink failed on purpose
};

// The two sides compared.
struct Audit {
  std::uint64_t committed = 0;  // orders in the database
  std::uint64_t lost = 0;       // of those, neither delivered nor dead
  std::uint64_t phantoms = 0;  // delivered without an order: the event of a rolled back transaction
  std::uint64_t attempts_wasted = 0;  // counted against a message though the sink never judged it
};

class Ledger {
 public:
  static constexpr std::size_t kArrivalsKept = 64;

  void OnCommitted(const Uuid& id);
  void OnRolledBack();
  void OnDelivered(const Message& message);
  // The sink failed this attempt on purpose; `verdict` says how.
  void OnFailed(const Message& message, std::string_view verdict);
  // The sink took it and its answer got lost: delivered, and it will come again.
  void OnAnswerLost(const Message& message);
  void OnDead(const Message& message);

  LedgerCounts counts() const;
  // How long the oldest committed message has been waiting for its first delivery.
  std::optional<std::chrono::milliseconds> OldestAge() const;
  // Newest first.
  std::vector<Arrival> Arrivals() const;
  // `order_events` are the events of the orders the database holds.
  Audit Compare(const std::vector<Uuid>& order_events) const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Track {
    int deliveries = 0;
    int faults = 0;   // attempts the sink failed on purpose
    int attempt = 0;  // the highest seen
    bool dead = false;
  };

  void Receive(const Message& message, Track& track);
  void Note(const Message& message, std::string_view verdict);

  mutable std::mutex mutex_;
  std::map<Uuid, Track> tracks_;
  std::map<Uuid, Clock::time_point> waiting_;  // ids are ordered by time: the first is the oldest
  std::deque<Arrival> arrivals_;
  LedgerCounts counts_;
};

}  // namespace outbox::demo
