// A stored message as JSON, as `list` and `show` write it: the names of the table's columns.
#pragma once

#include <string>

#include "store/inspect_store.h"

namespace outbox::store {

// `whole` adds headers and payload, spliced in as they are.
std::string ToJson(const StoredMessage& stored, bool whole);

}  // namespace outbox::store
