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

// The store of a relay, opened.
struct OpenedStore {
  std::unique_ptr<store::RelayStore> store;
  std::string table;  // the display name, with the destination
};
Result<OpenedStore> OpenStore(const std::string& database, const RelayOptions& options);

// Starts a relay with it. `opening` is an Open of the sink that may still run.
Result<std::unique_ptr<Relay>> StartRelay(OpenedStore store, RelayOptions options,
                                          std::shared_ptr<Sink> sink,
                                          std::shared_ptr<RelayObserver> observer,
                                          SinkOpening opening);

// As Relay::Start, which has no wrapper and opens the sink first. `wrap` may be null.
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
