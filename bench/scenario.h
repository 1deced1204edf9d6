// Scenario: one kind of measurement. Each is one file; scenario.cc lists them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench.h"
#include "bench/figure.h"
#include "bench/report.h"
#include "bench/scratch.h"
#include "outbox/status.h"

namespace outbox::bench {

// What a scenario works with. Threads: the main thread's.
class Run {
 public:
  // Either database may be null: then its part is left out.
  Run(const BenchOptions& options, Scratch* postgres, Scratch* sqlite, Report& report)
      : options_(options), postgres_(postgres), sqlite_(sqlite), report_(report) {}

  const BenchOptions& options() const noexcept { return options_; }
  Scratch* postgres() const noexcept { return postgres_; }
  Scratch* sqlite() const noexcept { return sqlite_; }
  // Those there are.
  std::vector<Scratch*> stores() const;

  std::size_t messages() const;
  std::size_t history_rows() const;
  int rounds() const;

  void Add(Figure figure) { report_.figures.push_back(std::move(figure)); }
  void Note(std::string note) { report_.notes.push_back(std::move(note)); }
  // One line on standard error: what is being done, or a measurement just made.
  void Progress(std::string_view text) const;

  // kCancelled once the user has asked to stop; looked at between measurements.
  Status CheckInterrupted() const;

 private:
  const BenchOptions& options_;
  Scratch* const postgres_;
  Scratch* const sqlite_;
  Report& report_;
};

struct Scenario {
  std::string_view name;
  Status (*run)(Run& run);
};

std::span<const Scenario> Scenarios() noexcept;

// What a business transaction costs with one enqueue and without.
Status EnqueueCost(Run& run);
// The SQL functions against the library and a plain INSERT of the same rows.
Status EnqueueFunction(Run& run);
// How fast a relay empties a full table, against a bare loop that runs the same statements.
Status DrainRate(Run& run);
// Commit to sink under a steady load that does not wait for anybody.
Status Latency(Run& run);
// What a relay with nothing to do costs.
Status IdleCost(Run& run);
// The drain while somebody's long transaction keeps dead rows from being removed.
Status PinnedSnapshot(Run& run);
// One claim on a table with a long delivered history, against one without.
Status LongHistory(Run& run);
// A relay with a broker's sink, against the bare use of that broker's client library.
Status SinkRate(Run& run);
// kInvalidArgument for an address that SinkRate could not use. Connects nothing.
Status CheckSinks(const std::vector<std::string>& sinks);
// A message goes to two sinks: what one of them gets while the other is down.
Status FanOut(Run& run);
// The drain with a history of attempts, against one without.
Status AttemptCost(Run& run);
// The drain against rival systems on the same server.
Status Peers(Run& run);
// Producers and a consumer at once, at a bounded depth: rate, latency and cost, beside rival
// queues.
Status Flow(Run& run);

}  // namespace outbox::bench
