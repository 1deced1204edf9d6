// Which messages a request asks for, read from its query.
#pragma once

#include <string>
#include <vector>

#include "outbox/status.h"
#include "service/http/query.h"
#include "store/list_filter.h"

namespace outbox::service {

// The names of ListParameters', and `more`.
std::vector<std::string> ListParameterNames(std::vector<std::string> more);

// status, topic, key, aggregate_type, aggregate_id, created_from, created_until, error, limit,
// after.
Result<store::ListFilter> ListParameters(const Query& query);

}  // namespace outbox::service
