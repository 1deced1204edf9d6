// The sinks that a configuration names, made but not opened: whatever is wrong with an address is
// told before anything is delivered, all of it at once, each with the place where it was written.
#pragma once

#include <memory>
#include <vector>

#include "config/config.h"
#include "outbox/sink.h"
#include "outbox/status.h"

namespace outbox::cli {

struct ConfiguredSink {
  const config::Settings* settings;  // of the configuration
  std::shared_ptr<Sink> sink;
};

// Of the tables that are delivered from, in their order: a table's own sink, or those of its
// routes.
Result<std::vector<ConfiguredSink>> MakeSinks(const config::Config& config);

}  // namespace outbox::cli
