// Parameters: what handlers read from a query, checked. Every error is kInvalidArgument, names the
// parameter and says what it may be; none repeats the value. ProblemOf turns it into a 400.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/message.h"
#include "outbox/status.h"
#include "service/http/query.h"

namespace outbox::service {

// Refuses parameters that are not in `known`, naming the one that was probably meant, and those
// given twice. For the beginning of a handler.
Status CheckParameters(const Query& query, const std::vector<std::string>& known);

struct IntBounds {
  int min = 0;
  int max = 0;
  int fallback = 0;  // when the parameter is not there
};
Result<int> IntParameter(const Query& query, std::string_view name, IntBounds bounds);

// "true" or "false".
Result<bool> BoolParameter(const Query& query, std::string_view name, bool fallback);

// One of `choices`.
Result<std::optional<std::string>> ChoiceParameter(const Query& query, std::string_view name,
                                                   const std::vector<std::string>& choices);

// Text of 1 to `bytes_max` bytes.
Result<std::optional<std::string>> TextParameter(const Query& query, std::string_view name,
                                                 std::size_t bytes_max);

// RFC 3339: "2026-01-05T00:00:00Z".
Result<std::optional<Timestamp>> TimeParameter(const Query& query, std::string_view name);

}  // namespace outbox::service
