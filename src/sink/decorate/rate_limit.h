// RateLimit: at most so many messages a second, by a token bucket.
//
// A batch is passed on in parts as tokens arrive. Batches are no larger than what the rate allows
// the concurrent calls in about a second, so that waiting for tokens uses up no deadline. A message
// for which no token comes in time has not been attempted, and is not charged for it.
#pragma once

#include <cstddef>
#include <memory>

#include "outbox/sink.h"
#include "sink/decorate/clock.h"

namespace outbox::sink {

// The tokens of one sink, or of several that lead to one destination. Threads: all of them may use
// it.
class TokenBucket;

// `per_second` is more than 0; fractions are allowed. `burst` (at least 1) messages may go at once
// after a pause. `clock` outlives the bucket.
std::shared_ptr<TokenBucket> MakeTokenBucket(double per_second, std::size_t burst,
                                             Clock& clock = Clock::System());

std::shared_ptr<Sink> RateLimit(std::shared_ptr<Sink> sink, std::shared_ptr<TokenBucket> bucket);

}  // namespace outbox::sink
