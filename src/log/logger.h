// Logger: structured log lines, in logfmt or JSON, each written whole.
//
//   logger.Write(Level::kInfo, "relay started", {{"table", table}, {"batch_size", 500}});
//   time=2026-01-05T00:00:00.000000Z level=info msg="relay started" table=public.orders
//   batch_size=500
//
// Threads: any number at once. A line is one write(2), so that lines of several threads and
// processes do not mix. A line that can not be written is dropped: logging never stops delivery.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace outbox::log {

enum class Level : std::uint8_t { kDebug, kInfo, kWarn, kError };
enum class Format : std::uint8_t { kLogfmt, kJson };

std::string_view ToString(Level level) noexcept;
std::string_view ToString(Format format) noexcept;
std::optional<Level> ParseLevel(std::string_view text) noexcept;
std::optional<Format> ParseFormat(std::string_view text) noexcept;

// A name and a value. Names are ours: lower case, with underscores. Fields with an empty text are
// left out of the line.
class Field {
 public:
  Field(std::string_view name, std::string_view value) : name_(name), value_(std::string(value)) {}
  Field(std::string_view name, const char* value) : Field(name, std::string_view(value)) {}
  Field(std::string_view name, bool value) : name_(name), value_(value) {}
  template <typename T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) Field(std::string_view name, T value)
      : name_(name), value_(static_cast<std::int64_t>(value)) {}

  std::string_view name() const noexcept { return name_; }
  const std::variant<std::string, std::int64_t, bool>& value() const noexcept { return value_; }

 private:
  std::string_view name_;
  std::variant<std::string, std::int64_t, bool> value_;
};

struct LogOptions {
  Level level = Level::kInfo;  // lines below it are not written
  Format format = Format::kLogfmt;
};

class Logger {
 public:
  // `fd` stays the caller's; the program logs to standard error.
  explicit Logger(LogOptions options, int fd = 2) noexcept : options_(options), fd_(fd) {}

  bool Enabled(Level level) const noexcept { return level >= options_.level; }

  // Control characters in values are escaped; what is a value's business (secrets, length) is the
  // caller's.
  void Write(Level level, std::string_view message, std::initializer_list<Field> fields) const {
    Write(level, message, std::span<const Field>(fields.begin(), fields.size()));
  }
  void Write(Level level, std::string_view message, std::span<const Field> fields) const;

 private:
  const LogOptions options_;
  const int fd_;
};

}  // namespace outbox::log
