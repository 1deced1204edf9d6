// Load: producers that commit events while a queue delivers them, and what came of it.
//
// Producers commit transactions of a fixed number of events, as fast as they can, but never run
// further ahead of the consumer than `depth`: so the figures are those of a queue that keeps up,
// not of a table that grows.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "outbox/status.h"

namespace outbox::bench {

struct LoadOptions {
  std::size_t producers = 2;
  std::size_t batch = 128;     // events a transaction
  std::size_t depth = 16'384;  // committed and not yet arrived, at most
  std::chrono::milliseconds warm_up{2000};
  std::chrono::milliseconds measured{10'000};
};

// Everything here is of the time that was measured.
struct LoadResult {
  std::size_t events = 0;       // that arrived
  double rate = 0;              // the same a second
  double p50 = 0, p99 = 0;      // milliseconds from COMMIT being sent to arrival
  double client_processor = 0;  // seconds of the process with the producers and the consumer
};

// One run, whose events are numbers from 0 on. The warm-up begins with the first arrival, the
// measuring after it; both end before the events that are then under way are waited for.
//
// Threads: Run is called once; Arrived from any thread meanwhile.
class Load {
 public:
  // Commits the events `first`, `first` + 1, … of one transaction; calls `committing` just before
  // COMMIT.
  using Transact = std::function<Status(std::size_t first, std::size_t count,
                                        const std::function<void()>& committing)>;

  explicit Load(const LoadOptions& options);

  // Runs each of `producers` on a thread, then waits until every event has arrived. Calls `mark` in
  // this thread when the measuring begins and when it ends; not at all when no event arrives. Fails
  // with the first failure of a producer, or with kDeadline when nothing arrives for a minute.
  Result<LoadResult> Run(const std::vector<Transact>& producers, const std::function<void()>& mark);

  // The consumer has received the event. An event that comes again counts once.
  void Arrived(std::size_t event);

  const LoadOptions& options() const noexcept { return options_; }

 private:
  using Clock = std::chrono::steady_clock;

  Status Produce(const Transact& transact);
  // When measuring begins. Needs an arrival.
  Clock::time_point From() const;
  // Whether what is measured has ended.
  bool Over() const;
  // Calls `mark` at the two ends of what is measured; returns the processor's seconds between them.
  double Measure(const std::function<void()>& mark);
  // Waits until `produced` events are at most `depth` ahead; false when nothing arrives meanwhile.
  bool WaitForRoom(std::size_t produced);
  LoadResult Evaluate() const;

  const LoadOptions options_;
  // Ticks of Clock by event; 0: not yet.
  std::vector<std::atomic<Clock::rep>> committing_, arrived_at_;
  std::atomic<Clock::rep> first_arrival_{0};
  std::atomic<std::size_t> produced_{0}, arrived_{0}, producing_{0};
  std::mutex mutex_;
  std::condition_variable room_;
};

}  // namespace outbox::bench
