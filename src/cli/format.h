// Numbers and times as people read them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "outbox/message.h"

namespace outbox::cli {

// "1,234,567"; an estimate is "~1,234,567".
std::string FormatCount(std::uint64_t count, bool estimated = false);

// The two largest units: "850ms", "12s", "3m 5s", "2h 10m", "4d 1h".
std::string FormatSpan(std::chrono::milliseconds span);

// "3m 5s ago", "in 2h", "now".
std::string FormatAge(Timestamp at, Timestamp now);

// By this machine's clock: for relative ages only, never for decisions.
Timestamp Now();

// "1 message", "2 messages".
std::string Plural(std::uint64_t count, std::string_view noun);

}  // namespace outbox::cli
