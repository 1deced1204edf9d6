// A table's counts as JSON: the names of `outboxd stats --json`.
#pragma once

#include <string>

#include "store/inspect_store.h"

namespace outbox::service {

std::string StatsJson(const std::string& table, const store::TableStats& stats);

}  // namespace outbox::service
