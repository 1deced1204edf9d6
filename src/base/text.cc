#include "base/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/hide_secrets.h"
#include "base/printable.h"

namespace outbox::base {
namespace {

// How many bytes at the front of `text` are surely ASCII; looks at eight at a time.
std::size_t AsciiWords(std::string_view text) noexcept {
  std::size_t at = 0;
  for (std::uint64_t word; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & 0x8080808080808080U) != 0) break;
  }
  return at;
}

std::string Clean(std::string_view text, std::size_t bytes_max, SettingForm form) {
  // Cut generously first: there is no need to look at a megabyte.
  const std::string printable = Harmless(text.substr(0, 4 * bytes_max + 1024));
  return Truncate(HideSecretSettings(HideUrlPasswords(printable), form), bytes_max);
}

struct Unit {
  std::string_view name;
  std::int64_t millis;
};
constexpr std::array<Unit, 5> kUnits{
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

constexpr std::size_t kFractionDigitsMax = 9;

// Each takes a part off the front of `text`; nothing, or '\0', when it is not there.

std::optional<int> TakeNumber(std::string_view& text, std::size_t digits, int largest) {
  if (text.size() < digits) return std::nullopt;
  int number = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return number <= largest ? std::optional(number) : std::nullopt;
}

char TakeOneOf(std::string_view& text, std::string_view characters) {
  if (text.empty() || characters.find(text.front()) == std::string_view::npos) return '\0';
  const char taken = text.front();
  text.remove_prefix(1);
  return taken;
}

std::optional<std::chrono::minutes> TakeHoursAndMinutes(std::string_view& text) {
  const auto hour = TakeNumber(text, 2, 23);
  if (!hour || !TakeOneOf(text, ":")) return std::nullopt;
  const auto minute = TakeNumber(text, 2, 59);
  if (!minute) return std::nullopt;
  return std::chrono::minutes(*hour * 60 + *minute);
}

// Of a second; none at all is no time. What is finer than a microsecond is left out.
std::optional<std::chrono::microseconds> TakeFraction(std::string_view& text) {
  if (!TakeOneOf(text, ".")) return std::chrono::microseconds(0);
  const auto not_a_digit = [](char c) { return c < '0' || c > '9'; };
  const auto end = std::find_if(text.begin(), text.end(), not_a_digit);
  const auto digits = static_cast<std::size_t>(end - text.begin());
  if (digits == 0 || digits > kFractionDigitsMax) return std::nullopt;
  std::int64_t nanos = 0;
  for (std::size_t i = 0; i < kFractionDigitsMax; ++i) {
    nanos = nanos * 10 + (i < digits ? text[i] - '0' : 0);
  }
  text.remove_prefix(digits);
  return std::chrono::microseconds(nanos / 1000);
}

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

std::string InWords(std::string_view code) {
  std::string words(code);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view Trim(std::string_view text) noexcept {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) {
    text.remove_suffix(1);
  }
  return text;
}

std::string Truncate(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  constexpr std::string_view kEllipsis = "…";
  const bool room = bytes_max >= kEllipsis.size();
  std::size_t end = room ? bytes_max - kEllipsis.size() : bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return StrCat(text.substr(0, end), room ? kEllipsis : std::string_view());
}

std::string PercentDecode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool IsValidUtf8(std::string_view text) noexcept {
  while (!text.empty()) {
    text.remove_prefix(AsciiWords(text));
    if (text.empty()) break;
    const std::size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string CleanError(std::string_view text, std::size_t bytes_max) {
  return Clean(text, bytes_max, SettingForm::kAssignedOrNamed);
}

std::string CleanText(std::string_view text, std::size_t bytes_max) {
  return Clean(text, bytes_max, SettingForm::kAssigned);
}

Result<std::chrono::milliseconds> ParseDuration(std::string_view text) {
  const auto invalid = [&] {
    return Status::Invalid(StrCat("'", text, "' is not a duration"))
        .WithHint("write a whole number and a unit: 200ms, 60s, 10m, 168h, 7d");
  };
  const std::string limit = FormatDuration(kDurationMax);
  const auto too_long = [&] {
    return Status::Invalid(StrCat("'", text, "' is longer than ", limit))
        .WithHint(StrCat("the longest duration is ", limit));
  };
  const std::string_view trimmed = Trim(text);
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number);
  if (end == trimmed.data() || trimmed.front() == '-') return invalid();
  const std::string_view unit(end, static_cast<std::size_t>(trimmed.data() + trimmed.size() - end));
  if (unit.empty() && number == 0 && error == std::errc()) return std::chrono::milliseconds(0);
  for (const Unit& known : kUnits) {
    if (unit != known.name) continue;
    if (error != std::errc() || number > kDurationMax.count() / known.millis) return too_long();
    return std::chrono::milliseconds(number * known.millis);
  }
  return invalid();
}

std::string FormatDuration(std::chrono::milliseconds duration) {
  const std::int64_t millis = duration.count();
  if (millis == 0) return "0";
  for (const Unit& unit : kUnits) {
    if (millis % unit.millis == 0) return StrCat(millis / unit.millis, unit.name);
  }
  return StrCat(millis, "ms");
}

std::string FormatTimestamp(Timestamp at) {
  at = std::clamp(at, kTimestampMin, kTimestampMax);
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  // Every message carries one: several times as fast as snprintf.
  std::string text = "0000-00-00T00:00:00.000000Z";
  const auto put = [&](std::size_t last, std::int64_t number) {
    for (; number > 0; number /= 10) text[last--] = static_cast<char>('0' + number % 10);
  };
  put(3, static_cast<int>(date.year()));
  put(6, static_cast<unsigned>(date.month()));
  put(9, static_cast<unsigned>(date.day()));
  put(12, time.hours().count());
  put(15, time.minutes().count());
  put(18, time.seconds().count());
  put(25, time.subseconds().count());
  return text;
}

std::optional<Timestamp> ParseTimestamp(std::string_view text) {
  const auto year = TakeNumber(text, 4, 9999);
  if (!year || !TakeOneOf(text, "-")) return std::nullopt;
  const auto month = TakeNumber(text, 2, 12);
  if (!month || !TakeOneOf(text, "-")) return std::nullopt;
  const auto day = TakeNumber(text, 2, 31);
  if (!day || !TakeOneOf(text, "T ")) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  const auto minutes = TakeHoursAndMinutes(text);
  if (!minutes || !TakeOneOf(text, ":")) return std::nullopt;
  const auto second = TakeNumber(text, 2, 59);
  if (!second) return std::nullopt;
  const auto fraction = TakeFraction(text);
  if (!fraction) return std::nullopt;
  std::chrono::minutes offset{0};
  if (!TakeOneOf(text, "Z")) {
    const char sign = TakeOneOf(text, "+-");
    const auto ahead = sign == '\0' ? std::nullopt : TakeHoursAndMinutes(text);
    if (!ahead) return std::nullopt;
    offset = sign == '-' ? -*ahead : *ahead;
  }
  if (!text.empty()) return std::nullopt;
  const Timestamp at = Timestamp(std::chrono::sys_days(date)) + *minutes +
                       std::chrono::seconds(*second) + *fraction - offset;
  if (at < kTimestampMin || at > kTimestampMax) return std::nullopt;
  return at;
}

std::string JsonQuote(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  std::string out;
  out.reserve(text.size() + 2);
  out += '"';
  while (!text.empty()) {
    const auto special = std::find_if_not(text.begin(), text.end(), is_plain);
    out.append(text.begin(), special);
    text.remove_prefix(static_cast<std::size_t>(special - text.begin()));
    if (text.empty()) break;
    const std::size_t length = Utf8Length(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      text.remove_prefix(1);
      continue;
    }
    const auto c = static_cast<unsigned char>(text[0]);
    if (length > 1) {
      out += text.substr(0, length);
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += text[0];
    } else if (c == '\n') {
      out += "\\n";
    } else if (c < 0x20) {
      out += "\\u00";
      out += kDigits[c >> 4];
      out += kDigits[c & 15];
    } else {
      out += text[0];
    }
    text.remove_prefix(length);
  }
  out += '"';
  return out;
}

std::string_view Nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace outbox::base
