#include "cli/format.h"

#include <array>

#include "base/text.h"

namespace outbox::cli {

using std::chrono::milliseconds;

std::string FormatCount(std::uint64_t count, bool estimated) {
  const std::string digits = std::to_string(count);
  std::string out = estimated ? "~" : "";
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string FormatSpan(milliseconds span) {
  struct Unit {
    std::int64_t millis;
    std::string_view name;
  };
  static constexpr std::array<Unit, 4> kUnits{
      {{86'400'000, "d"}, {3'600'000, "h"}, {60'000, "m"}, {1'000, "s"}}};
  const std::int64_t millis = span.count();
  if (millis < 1'000) return base::StrCat(millis, "ms");
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    if (millis < kUnits[i].millis) continue;
    const std::string whole = base::StrCat(millis / kUnits[i].millis, kUnits[i].name);
    if (i + 1 == kUnits.size()) return whole;
    const std::int64_t rest = millis % kUnits[i].millis / kUnits[i + 1].millis;
    return rest == 0 ? whole : base::StrCat(whole, " ", rest, kUnits[i + 1].name);
  }
  return {};
}

std::string FormatAge(Timestamp at, Timestamp now) {
  // Times that stand for the beginning or the end of time would overflow the difference.
  constexpr Timestamp kFirst =
      std::chrono::sys_days(std::chrono::year(1) / std::chrono::January / 1);
  if (at < kFirst) return "long ago";
  if (at > base::kTimestampMax) return "never";
  const auto age = std::chrono::duration_cast<milliseconds>(now - at);
  if (age >= milliseconds(1'000)) return base::StrCat(FormatSpan(age), " ago");
  if (age <= milliseconds(-1'000)) return base::StrCat("in ", FormatSpan(-age));
  return "now";
}

Timestamp Now() {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

std::string Plural(std::uint64_t count, std::string_view noun) {
  return base::StrCat(FormatCount(count), " ", noun, count == 1 ? "" : "s");
}

}  // namespace outbox::cli
