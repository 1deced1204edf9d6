#include "log/logger.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/json_object.h"
#include "base/printable.h"
#include "base/text.h"

namespace outbox::log {
namespace {

std::string Now() {
  return base::FormatTimestamp(
      std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now()));
}

// Bare words stay bare; anything a parser could trip over is quoted like a JSON string.
std::string LogfmtText(std::string_view text) {
  const bool bare = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c > 0x20 && c < 0x7F && c != '"' && c != '=' && c != '\\';
  });
  return bare ? std::string(text) : base::HarmlessJson(base::JsonQuote(text));
}

bool IsEmpty(const Field& field) {
  const auto* text = std::get_if<std::string>(&field.value());
  return text != nullptr && text->empty();
}

std::string Logfmt(Level level, std::string_view message, std::span<const Field> fields) {
  std::string line =
      base::StrCat("time=", Now(), " level=", ToString(level), " msg=", LogfmtText(message));
  for (const Field& field : fields) {
    if (IsEmpty(field)) continue;
    line += base::StrCat(" ", field.name(), "=");
    if (const auto* text = std::get_if<std::string>(&field.value())) {
      line += LogfmtText(*text);
    } else if (const auto* number = std::get_if<std::int64_t>(&field.value())) {
      line += std::to_string(*number);
    } else {
      line += std::get<bool>(field.value()) ? "true" : "false";
    }
  }
  return line;
}

std::string Json(Level level, std::string_view message, std::span<const Field> fields) {
  base::JsonObject line;
  line.Add("time", Now()).Add("level", ToString(level)).Add("msg", message);
  for (const Field& field : fields) {
    if (IsEmpty(field)) continue;
    std::visit([&](const auto& value) { line.Add(field.name(), value); }, field.value());
  }
  return base::HarmlessJson(line.Finish());
}

}  // namespace

std::string_view ToString(Level level) noexcept {
  switch (level) {
    case Level::kDebug: return "debug";
    case Level::kInfo: return "info";
    case Level::kWarn: return "warn";
    case Level::kError: return "error";
  }
  return "unknown";
}

std::string_view ToString(Format format) noexcept {
  return format == Format::kJson ? "json" : "logfmt";
}

std::optional<Level> ParseLevel(std::string_view text) noexcept {
  for (const Level level : {Level::kDebug, Level::kInfo, Level::kWarn, Level::kError}) {
    if (text == ToString(level)) return level;
  }
  return std::nullopt;
}

std::optional<Format> ParseFormat(std::string_view text) noexcept {
  for (const Format format : {Format::kLogfmt, Format::kJson}) {
    if (text == ToString(format)) return format;
  }
  return std::nullopt;
}

void Logger::Write(Level level, std::string_view message, std::span<const Field> fields) const {
  if (!Enabled(level)) return;
  std::string line = options_.format == Format::kJson ? Json(level, message, fields)
                                                      : Logfmt(level, message, fields);
  line += '\n';
  [[maybe_unused]] const ssize_t written = write(fd_, line.data(), line.size());
}

}  // namespace outbox::log
