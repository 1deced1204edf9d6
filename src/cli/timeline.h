// Timeline: what happened to one message, for people: enqueued, each attempt that was noted, and
// how it ended.
#pragma once

#include <span>
#include <string>

#include "store/inspect_store.h"

namespace outbox::cli {

// A table for standard output; empty when no attempt was noted.
std::string Timeline(const store::StoredMessage& stored, std::span<const store::Attempt> attempts);

}  // namespace outbox::cli
