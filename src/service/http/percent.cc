#include "service/http/percent.h"

#include "base/text.h"

namespace outbox::service {
namespace {

int HexDigit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsControl(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

}  // namespace

std::optional<std::string> PercentDecode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = HexDigit(text[i + 1]);
      const int low = HexDigit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7f) {
      return std::nullopt;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (IsControl(c)) return std::nullopt;
    out += c;
  }
  if (!base::IsValidUtf8(out)) return std::nullopt;
  return out;
}

std::optional<std::vector<std::string>> SplitPath(std::string_view path) {
  if (!path.starts_with('/')) return std::nullopt;
  std::vector<std::string> segments;
  if (path.size() == 1) return segments;
  for (const std::string& part : base::Split(path.substr(1), '/')) {
    auto segment = PercentDecode(part, false);
    if (!segment || *segment == "." || *segment == "..") return std::nullopt;
    segments.push_back(*std::move(segment));
  }
  return segments;
}

}  // namespace outbox::service
