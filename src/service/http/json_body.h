// ParseJson: a request's body as JSON, without exceptions and without surprises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "outbox/status.h"

namespace outbox::service {

inline constexpr std::size_t kJsonDepthMax = 32;

enum class JsonMembers : std::uint8_t {
  kAnyNumber,  // of those with the same name the last counts
  kOnce,       // refused: what is meant would be a guess
};

// kInvalidArgument names line and column of the first mistake: text that is not JSON, is not UTF-8,
// a number that fits no double, or arrays and objects nested deeper than `depth_max`. The error
// repeats nothing of the body.
Result<nlohmann::json> ParseJson(std::string_view body, std::size_t depth_max = kJsonDepthMax,
                                 JsonMembers members = JsonMembers::kAnyNumber);

}  // namespace outbox::service
