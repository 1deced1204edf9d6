// JSON from strangers: bounded, and without room for two readings.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "outbox/status.h"

namespace outbox::service {

struct JsonLimits {
  std::size_t depth_max = 8;     // arrays and objects within each other
  std::size_t values_max = 512;  // of all kinds together
};

// An object. Refused, beyond what is not JSON: a member that occurs twice, invalid UTF-8, a byte
// order mark, a zero byte, and what exceeds the limits. The error (kInvalidArgument) ends a
// sentence, "is not JSON", and holds nothing of the text.
Result<nlohmann::json> ParseStrictJson(std::string_view text, const JsonLimits& limits = {});

}  // namespace outbox::service
