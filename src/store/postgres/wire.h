// Wire: integers in network byte order and PostgreSQL's epoch, for binary parameters and results.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "outbox/message.h"

namespace outbox::store::postgres::wire {

template <typename T>
void Put(std::string& out, T value) {
  using Bits = std::make_unsigned_t<T>;
  const auto bits = static_cast<Bits>(value);
  for (int shift = static_cast<int>(sizeof(T)) * 8 - 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>((bits >> shift) & 0xff));
  }
}

template <typename T>
T Get(const char* bytes) noexcept {
  using Bits = std::make_unsigned_t<T>;
  Bits bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bits = static_cast<Bits>((static_cast<std::uint64_t>(bits) << 8) |
                             static_cast<unsigned char>(bytes[i]));
  }
  return static_cast<T>(bits);
}

// Microseconds from 1970-01-01 to 2000-01-01, where PostgreSQL's clock starts.
inline constexpr std::int64_t kEpochMicros = 946'684'800'000'000;

inline std::int64_t FromTimestamp(Timestamp at) noexcept {
  // What PostgreSQL can not hold is as good as infinite.
  constexpr std::int64_t kFirst = -211'813'488'000'000'000 + kEpochMicros;
  constexpr std::int64_t kLast = 9'223'371'331'200'000'000;
  const std::int64_t micros = at.time_since_epoch().count();
  if (micros < kFirst) return std::numeric_limits<std::int64_t>::min();
  if (micros >= kLast) return std::numeric_limits<std::int64_t>::max();
  return micros - kEpochMicros;
}

inline Timestamp ToTimestamp(std::int64_t micros) noexcept {
  if (micros == std::numeric_limits<std::int64_t>::min()) return Timestamp::min();
  if (micros == std::numeric_limits<std::int64_t>::max()) return Timestamp::max();
  return Timestamp(std::chrono::microseconds(micros + kEpochMicros));
}

}  // namespace outbox::store::postgres::wire
