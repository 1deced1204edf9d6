// StartRelay: Relay::Start for whoever has something to put between the relay and its store.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "outbox/relay.h"
#include "relay/sink_opening.h"
#include "store/relay_store.h"

namespace outbox::relay {

using StoreWrapper =
    std::function<std::unique_ptr<store::RelayStore>(std::unique_ptr<store::RelayStore>)>;

// As Relay::Start, which has no wrapper and opens the sink first. `wrap` may be null. `opening` is
// an Open of the sink that may still run.
Result<std::unique_ptr<Relay>> StartRelay(const std::string& database, RelayOptions options,
                                          std::shared_ptr<Sink> sink,
                                          std::shared_ptr<RelayObserver> observer,
                                          const StoreWrapper& wrap, SinkOpening opening = {});

// Begins to open a sink that a relay is about to be started with; the sink has two seconds. If the
// result is kPermanent it can never work; relays wait for one that is only away.
SinkOpening OpenAtStart(std::shared_ptr<Sink> sink);

// What such a relay opens its store with.
store::RelayStoreOptions StoreOptionsOf(const RelayOptions& options);

}  // namespace outbox::relay
