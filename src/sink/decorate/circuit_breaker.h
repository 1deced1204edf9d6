// CircuitBreaker: leaves a destination alone that fails everything.
//
// Closed, it passes everything on. After `failures` messages in a row that the destination did not
// manage (kRetry or kInDoubt with kUnavailable, kDeadline or kInternal) it opens: for `cooldown` it
// answers kSinkDown at once, so that no attempts are spent. Then one call is let through, its first
// message alone: if that one fails the circuit is open for another cooldown; if not it is closed,
// and the rest of the call follows. A trial that does not come back by its deadline, and a second
// more, has failed too.
//
// An exception of the inner sink is one failure, however many messages it leaves without a result.
//
// A refused message shows that the destination works, as a success does. What the inner sink says
// about itself (kSinkDown) neither opens nor closes the circuit, except that it fails the trial.
#pragma once

#include <cstddef>
#include <memory>

#include "outbox/sink.h"
#include "sink/decorate/clock.h"

namespace outbox::sink {

// Whether calls may pass, for one sink or for several that lead to one destination. Threads: all of
// them may use it.
class Circuit;

// `failures` is at least 1. `clock` outlives the circuit.
std::shared_ptr<Circuit> MakeCircuit(std::size_t failures, Clock::Duration cooldown,
                                     Clock& clock = Clock::System());

std::shared_ptr<Sink> CircuitBreaker(std::shared_ptr<Sink> sink, std::shared_ptr<Circuit> circuit);

}  // namespace outbox::sink
