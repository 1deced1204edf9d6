// A table's counts as JSON, as `outboxd stats --json` and the HTTP API write them.
#pragma once

#include <string>

#include "store/inspect_store.h"

namespace outbox::store {

std::string StatsJson(const std::string& table, const TableStats& stats);

}  // namespace outbox::store
