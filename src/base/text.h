// Text: joining, cutting and cleaning strings; durations as people write them.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "outbox/message.h"
#include "outbox/status.h"

namespace outbox::base {

namespace internal {
inline void Append(std::string& out, std::string_view part) { out += part; }
inline void Append(std::string& out, char part) { out += part; }
template <typename T>
requires std::is_arithmetic_v<T>
void Append(std::string& out, T part) { out += std::to_string(part); }
}  // namespace internal

// "a" + 1 + 'b', in one allocation or two.
template <typename... Parts>
std::string StrCat(const Parts&... parts) {
  std::string out;
  (internal::Append(out, parts), ...);
  return out;
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator);
std::vector<std::string> Split(std::string_view text, char separator);
std::string_view Trim(std::string_view text) noexcept;

// A code for people: "waiting_for_sink" becomes "waiting for sink".
std::string InWords(std::string_view code);

// The first `bytes_max` bytes, cut between characters; a cut text ends in "…".
std::string Truncate(std::string_view text, std::size_t bytes_max);

// "a%20b" becomes "a b"; a % without two hex digits after it stands for itself.
std::string PercentDecode(std::string_view text);

bool IsValidUtf8(std::string_view text) noexcept;

// For error texts that leave the process: invalid UTF-8 and control characters replaced, passwords
// in URLs and values of well-known secret settings replaced by ***, then cut to `bytes_max`.
std::string CleanError(std::string_view text, std::size_t bytes_max);
// The same for texts of our own, whose parts from elsewhere are clean already: in "password: is
// missing" the second word is not a password.
std::string CleanText(std::string_view text, std::size_t bytes_max);

// The longest that is read: with it no sum of a few durations and a time can overflow.
inline constexpr std::chrono::milliseconds kDurationMax = std::chrono::hours(24) * 36'500;

// "200ms", "60s", "10m", "168h", "7d"; a bare "0" too. The error names the text and the units, or
// the limit.
Result<std::chrono::milliseconds> ParseDuration(std::string_view text);
// The shortest exact form: "1500ms", "60s" becomes "1m".
std::string FormatDuration(std::chrono::milliseconds duration);

// The first and the last moment that RFC 3339 can write.
inline constexpr Timestamp kTimestampMin =
    std::chrono::sys_days(std::chrono::year(0) / std::chrono::January / 1);
inline constexpr Timestamp kTimestampMax =
    Timestamp(std::chrono::sys_days(std::chrono::year(10'000) / std::chrono::January / 1)) -
    std::chrono::microseconds(1);

// RFC 3339 in UTC: "2026-01-05T00:00:00.000000Z". Microseconds always shown. What lies before
// kTimestampMin or after kTimestampMax is shown as these.
std::string FormatTimestamp(Timestamp at);
// Accepts what FormatTimestamp writes, with 0 to 9 fraction digits, of which the first 6 count, and
// "Z" or an offset.
std::optional<Timestamp> ParseTimestamp(std::string_view text);

// `text` as a JSON string, quotes included. Invalid UTF-8 is replaced.
std::string JsonQuote(std::string_view text);

// The one of `known` that looks most like `word`, or an empty view when none comes close.
std::string_view Nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace outbox::base
