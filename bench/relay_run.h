// Runs of the real relay: from its start until the last of so many messages is settled.
#pragma once

#include <cstddef>
#include <memory>

#include "bench/scratch.h"
#include "outbox/options.h"
#include "outbox/sink.h"
#include "outbox/status.h"

namespace outbox::bench {

// How a drain is done; the same for the relay and for the bare loop.
struct DrainPlan {
  ClaimMode mode = ClaimMode::kLease;
  bool keep = true;  // delivered rows stay, or are deleted
  std::size_t batch = 1000;
  // The relay's only.
  AttemptHistory history = AttemptHistory::kOff;
  std::size_t window = RelayOptions{}.window;
  bool async_ack = false;
};

// "lease, kept, batch 1000", and what is not the relay's default.
std::string Describe(const DrainPlan& plan);

// Messages a second while a relay delivers the `count` messages waiting in `scratch` to `sink`, or
// into nowhere. Everything else is the relay's default.
Result<double> RelayRate(const Scratch& scratch, const DrainPlan& plan, std::size_t count,
                         std::shared_ptr<Sink> sink = nullptr);

// The same through a route that leads every message to one sink.
Result<double> RoutedRate(const Scratch& scratch, const DrainPlan& plan, std::size_t count);

}  // namespace outbox::bench
