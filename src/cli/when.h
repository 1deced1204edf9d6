// Moments and spans of time as people write them on a command line.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "outbox/message.h"
#include "outbox/status.h"

namespace outbox::cli {

inline constexpr std::string_view kWhenHelp = "a time (2026-01-05T00:00:00Z) or how long ago (2h)";

// Nothing for an empty text. kInvalidArgument names `flag`. How long ago is told by this machine's
// clock.
Result<std::optional<Timestamp>> ParseWhen(std::string_view flag, const std::string& text);

// "200ms", "60s", "10m". kInvalidArgument names `flag`.
Result<std::chrono::milliseconds> ParseSpan(std::string_view flag, const std::string& text);

}  // namespace outbox::cli
