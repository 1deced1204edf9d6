#include "base/printable.h"

namespace outbox::base {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Calls `each` with the bytes of each character and its number; bytes that are none, with 0.
template <typename Each>
void ForEachCharacter(std::string_view text, Each each) {
  while (!text.empty()) {
    const std::size_t length = Utf8Length(text);
    if (length == 0) {
      each(kReplacement, char32_t{0xFFFD});
    } else {
      each(text.substr(0, length), Utf8Character(text, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

bool IsObeyed(char32_t character) noexcept {
  if (character < 0x300) return character < 0x20 || (character >= 0x7F && character < 0xA0);
  return character == 0x061C || character == 0x200E || character == 0x200F ||
         (character >= 0x2028 && character <= 0x202E) ||
         (character >= 0x2066 && character <= 0x2069);
}

void AppendJsonEscape(char32_t character, std::string& out) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[character >> shift & 15U];
}

}  // namespace

std::string Harmless(std::string_view text, std::string_view keep) {
  std::string out;
  out.reserve(text.size());
  ForEachCharacter(text, [&](std::string_view bytes, char32_t character) {
    const bool spaced = IsObeyed(character) && keep.find(bytes) == std::string_view::npos;
    out += spaced ? " " : bytes;
  });
  return out;
}

std::string HarmlessJson(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  ForEachCharacter(json, [&](std::string_view bytes, char32_t character) {
    if (character == '\r') {
      out += ' ';
    } else if (IsObeyed(character) && character != '\n' && character != '\t') {
      AppendJsonEscape(character, out);
    } else {
      out += bytes;
    }
  });
  return out;
}

std::size_t Utf8Length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  unsigned char second_min = 0x80;
  unsigned char second_max = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) second_min = 0xA0;
    if (lead == 0xED) second_max = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) second_min = 0x90;
    if (lead == 0xF4) second_max = 0x8F;
  }
  if (length == 0 || text.size() < length) return 0;
  if (byte(1) < second_min || byte(1) > second_max) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

char32_t Utf8Character(std::string_view text, std::size_t length) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (length < 2) return byte(0);
  char32_t character = byte(0) & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) character = character << 6 | (byte(i) & 0x3FU);
  return character;
}

}  // namespace outbox::base
