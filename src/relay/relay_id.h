// Names for relays and processes.
#pragma once

#include <string>

#include "store/control_store.h"

namespace outbox::relay {

// "host:pid:random": says where to look, and no two share it.
std::string MakeRelayId();

// This process, as heartbeats tell of it. Each call makes another id.
store::ProcessInfo ThisProcess();

}  // namespace outbox::relay
