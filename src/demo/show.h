// Show: shop, database, relay and sink put together, with a handle for every part that can be
// broken. The live view and the script are two ways to drive one.
//
// Threads: used by one thread; the parts have theirs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "demo/breakable_sink.h"
#include "demo/ledger.h"
#include "demo/monitor.h"
#include "demo/shop.h"
#include "demo/stage.h"
#include "demo/summary.h"
#include "outbox/relay.h"
#include "outbox/status.h"

namespace outbox::demo {

// Everything the view shows, at one moment.
struct Snapshot {
  std::string database;
  std::chrono::milliseconds elapsed{0};
  int orders_per_second = 0;
  SinkCondition sink = SinkCondition::kWorking;
  std::uint64_t probes = 0;
  std::optional<std::chrono::milliseconds> since_probe;
  RelayView relay;
  LedgerCounts counts;
  std::uint64_t in_flight = 0;
  std::optional<std::chrono::milliseconds> oldest_age;
  std::vector<Arrival> arrivals;
  std::vector<Incident> incidents;
  std::vector<double> rates;  // deliveries a second, oldest first; filled in by the sampler

  std::uint64_t pending() const {
    const std::uint64_t done = counts.delivered + counts.dead;
    return counts.committed > done ? counts.committed - done : 0;
  }
};

class Show {
 public:
  // Sets the stage, starts the relay and opens the shop.
  static Result<std::unique_ptr<Show>> Start(const std::string& database, int orders_per_second);

  Snapshot Look() const;

  void SetSink(SinkCondition condition);
  void PoisonNext();
  void ChangeRate(double factor);
  // Stops the relay and starts another, under load.
  Status RestartRelay();

  // Closes the shop and mends the sink, so that the relay can deliver what is left.
  void LastOrders();
  // True when nothing is left to deliver. Waits at most `wait`.
  bool Drained(std::chrono::milliseconds wait);
  // Stops the relay and compares both sides. `failures` are passed on.
  Summary Finish(std::vector<std::string> failures);

  // Leaves the database behind; says where.
  std::string Keep();

 private:
  explicit Show(std::unique_ptr<Stage> stage);

  Status StartRelay();

  const std::unique_ptr<Stage> stage_;
  Ledger ledger_;
  const std::shared_ptr<Monitor> monitor_;
  const std::shared_ptr<BreakableSink> sink_;
  std::unique_ptr<Relay> relay_;
  std::unique_ptr<Shop> shop_;
};

}  // namespace outbox::demo
