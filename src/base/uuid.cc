#include "outbox/uuid.h"

#include <chrono>
#include <mutex>

#include "base/random.h"

namespace outbox {
namespace {

int HexValue(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr bool IsHyphenPosition(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

// Milliseconds and a 32-bit counter that together only ever grow. The counter starts anew at a
// random value with room above it in each millisecond; if it overflows, or the clock steps back,
// the milliseconds move on instead.
struct Tick {
  std::uint64_t millis;
  std::uint32_t counter;
};

Tick NextTick() {
  static std::mutex mutex;
  static Tick last{0, 0};
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  const std::lock_guard lock(mutex);
  if (static_cast<std::uint64_t>(now) > last.millis) {
    last = {static_cast<std::uint64_t>(now), static_cast<std::uint32_t>(base::RandomBits()) >> 2};
  } else if (++last.counter == 0) {
    last = {last.millis + 1, static_cast<std::uint32_t>(base::RandomBits()) >> 2};
  }
  return last;
}

}  // namespace

Uuid Uuid::NewV7() {
  const Tick tick = NextTick();
  const std::uint64_t random = base::RandomBits();
  Bytes b{};
  for (std::size_t i = 0; i < 6; ++i) {
    b[i] = static_cast<std::uint8_t>(tick.millis >> (40 - 8 * i));
  }
  // 12 bits of the counter, the variant, then its other 20 bits and 42 random ones.
  b[6] = static_cast<std::uint8_t>(0x70U | (tick.counter >> 28));
  b[7] = static_cast<std::uint8_t>(tick.counter >> 20);
  b[8] = static_cast<std::uint8_t>(0x80U | ((tick.counter >> 14) & 0x3FU));
  b[9] = static_cast<std::uint8_t>(tick.counter >> 6);
  b[10] = static_cast<std::uint8_t>(((tick.counter & 0x3FU) << 2) | (random >> 62));
  for (std::size_t i = 11; i < 16; ++i) {
    b[i] = static_cast<std::uint8_t>(random >> (8 * (i - 11)));
  }
  return Uuid(b);
}

std::optional<Uuid> Uuid::Parse(std::string_view text) noexcept {
  if (text.size() != 36) return std::nullopt;
  Bytes bytes{};
  std::size_t out = 0;
  for (std::size_t i = 0; i < 36;) {
    if (IsHyphenPosition(i)) {
      if (text[i] != '-') return std::nullopt;
      ++i;
      continue;
    }
    const int high = HexValue(text[i]);
    const int low = HexValue(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes[out++] = static_cast<std::uint8_t>(high * 16 + low);
    i += 2;
  }
  return Uuid(bytes);
}

std::string Uuid::ToString() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(36, '-');
  std::size_t at = 0;
  for (const std::uint8_t byte : bytes_) {
    if (IsHyphenPosition(at)) ++at;
    text[at++] = kDigits[byte >> 4];
    text[at++] = kDigits[byte & 15];
  }
  return text;
}

}  // namespace outbox
