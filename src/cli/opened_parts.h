// The sinks and stores that a configuration needs, opened before anything runs: all at once, so
// that one which is slow costs the start no more time than it takes itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/checked_config.h"
#include "outbox/observer.h"
#include "outbox/options.h"
#include "outbox/sink.h"
#include "outbox/status.h"
#include "relay/sink_opening.h"
#include "relay/start_relay.h"
#include "store/backend.h"

namespace outbox::cli {

struct OpenedRelay {
  RelayOptions options;  // with a relay_id; start_paused as the database says
  std::string display;   // of its table
  std::shared_ptr<Sink> sink;
  relay::SinkOpening opening;  // may still run
  relay::OpenedStore store;
};
struct OpenedSplit {
  const config::TableConfig* table;
  std::string display;
  std::unique_ptr<store::SplitStore> store;
};
struct OpenedClean {
  const config::TableConfig* table;
  std::string display;
  std::unique_ptr<store::CleanStore> store;
};

struct OpenedParts {
  std::unique_ptr<store::ControlStore> control;
  std::vector<OpenedRelay> relays;
  std::vector<OpenedSplit> splits;  // of tables with routes
  std::vector<OpenedClean> cleans;
};

// Everything, or the first failure. A sink that is only away is no failure: the observer is told,
// as it is of deliveries that wait for a sink without a route. `checked` must outlive the result.
Result<OpenedParts> OpenParts(const CheckedConfig& checked, RelayObserver& observer, bool cleaners);

}  // namespace outbox::cli
