// Timeline: what happened to one message, for people: enqueued, each attempt that was noted, and
// how it ended.
#pragma once

#include <span>

#include "cli/table.h"
#include "store/inspect_store.h"

namespace outbox::cli {

// In the order in which things began; empty when no attempt was noted.
Table Timeline(const store::StoredMessage& stored, std::span<const store::Attempt> attempts);

}  // namespace outbox::cli
