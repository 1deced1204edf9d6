// A stored message as JSON, as `list` and `show` write it: the names of the table's columns.
#pragma once

#include <string>

#include "store/inspect_store.h"

namespace outbox::cli {

// `whole` adds headers and payload, spliced in as they are.
std::string ToJson(const store::StoredMessage& stored, bool whole);

}  // namespace outbox::cli
