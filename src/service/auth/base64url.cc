#include "service/auth/base64url.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace outbox::service {
namespace {

constexpr std::string_view kBase64UrlDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::uint8_t kNoDigit = 0xff;

constexpr std::array<std::uint8_t, 256> MakeDigitValues() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t i = 0; i < kBase64UrlDigits.size(); ++i) {
    values[static_cast<unsigned char>(kBase64UrlDigits[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}

constexpr std::array<std::uint8_t, 256> kDigitValues = MakeDigitValues();

}  // namespace

std::string Base64UrlEncode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t held = 0;
  int bits = 0;
  for (const char byte : bytes) {
    held = (held << 8) | static_cast<unsigned char>(byte);
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      out += kBase64UrlDigits[(held >> bits) & 63];
    }
    held &= (1U << bits) - 1;
  }
  if (bits > 0) out += kBase64UrlDigits[(held << (6 - bits)) & 63];
  return out;
}

std::optional<std::string> Base64UrlDecode(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t held = 0;
  int bits = 0;
  for (const char digit : text) {
    const std::uint8_t value = kDigitValues[static_cast<unsigned char>(digit)];
    if (value == kNoDigit) return std::nullopt;
    held = (held << 6) | value;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>((held >> bits) & 0xff);
      held &= (1U << bits) - 1;
    }
  }
  if (held != 0) return std::nullopt;
  return out;
}

}  // namespace outbox::service
