// A stored message as JSON, as `list` and `show` write it: the names of the table's columns.
#pragma once

#include <span>
#include <string>

#include "store/inspect_store.h"

namespace outbox::store {

// `whole` adds headers and payload, spliced in as they are.
std::string ToJson(const StoredMessage& stored, bool whole);
// The whole message, and what is known of the attempts at it as `attempt_history`; left out when
// that is nothing.
std::string ToJson(const StoredMessage& stored, std::span<const Attempt> attempts);

}  // namespace outbox::store
