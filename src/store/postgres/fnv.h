// FNV-1a: a hash that stays the same for ever and everywhere. It names things that different
// processes must agree on: advisory locks, notification channels, prepared statements.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace outbox::store::postgres {

constexpr std::uint64_t Fnv1a(std::string_view text) noexcept {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  return hash;
}

// 16 lower-case hexadecimal digits.
inline std::string FnvHex(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::uint64_t hash = Fnv1a(text);
  std::string hex(16, '0');
  for (auto digit = hex.rbegin(); digit != hex.rend(); ++digit, hash >>= 4) {
    *digit = kDigits[hash & 0xf];
  }
  return hex;
}

}  // namespace outbox::store::postgres
