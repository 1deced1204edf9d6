// StartRelay: Relay::Start for whoever has something to put between the relay and its store.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "outbox/relay.h"
#include "store/relay_store.h"

namespace outbox::relay {

using StoreWrapper =
    std::function<std::unique_ptr<store::RelayStore>(std::unique_ptr<store::RelayStore>)>;

// As Relay::Start, which has no wrapper and opens the sink first. `wrap` may be null.
Result<std::unique_ptr<Relay>> StartRelay(const std::string& database, RelayOptions options,
                                          std::shared_ptr<Sink> sink,
                                          std::shared_ptr<RelayObserver> observer,
                                          const StoreWrapper& wrap);

// Opens a sink that relays are about to be started with, in two seconds at most: kPermanent means
// that it can never work; relays wait for one that is only away.
Status OpenAtStart(Sink& sink);

// What such a relay opens its store with.
store::RelayStoreOptions StoreOptionsOf(const RelayOptions& options);

}  // namespace outbox::relay
