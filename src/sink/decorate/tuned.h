// Tuned: a sink with smaller batches or fewer calls at a time than it would allow.
#pragma once

#include <memory>

#include "outbox/sink.h"

namespace outbox::sink {

// A field of `traits` that is 0 leaves the sink's own. Neither can be raised: a sink says what it
// can bear, and more calls at a time than that would be a data race in it.
std::shared_ptr<Sink> Tuned(std::shared_ptr<Sink> sink, SinkTraits traits);

}  // namespace outbox::sink
