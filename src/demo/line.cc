#include "demo/line.h"

#include "base/printable.h"

namespace outbox::demo {
namespace {

bool StartsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

std::string_view Escape(Style style) {
  switch (style) {
    case Style::kPlain: return "";
    case Style::kDim: return "\x1b[2m";
    case Style::kBold: return "\x1b[1m";
    case Style::kGood: return "\x1b[32m";
    case Style::kWarn: return "\x1b[33m";
    case Style::kBad: return "\x1b[31m";
    case Style::kAccent: return "\x1b[36m";
    case Style::kKey: return "\x1b[1;36m";
  }
  return "";
}

// The first `count` characters.
std::string_view Head(std::string_view text, std::size_t count) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (StartsCharacter(text[i]) && count-- == 0) return text.substr(0, i);
  }
  return text;
}

}  // namespace

std::size_t DisplayWidth(std::string_view text) noexcept {
  std::size_t width = 0;
  for (const char byte : text) width += StartsCharacter(byte) ? 1 : 0;
  return width;
}

Line& Line::Add(std::string_view text_given, Style style) {
  const std::string text = base::Harmless(text_given);
  const std::string_view fitting = Head(text, width_ - used_);
  if (fitting.empty()) return *this;
  const std::string_view escape = Escape(style);
  text_ += escape;
  text_ += fitting;
  if (!escape.empty()) text_ += "\x1b[0m";
  used_ += DisplayWidth(fitting);
  return *this;
}

Line& Line::To(std::size_t column) {
  const std::size_t blanks = column > used_ ? column - used_ : (used_ > 0 ? 1 : 0);
  return Add(std::string(blanks, ' '));
}

Line& Line::Right(std::string_view text, Style style) {
  const std::size_t width = DisplayWidth(text);
  return To(width < width_ ? width_ - width : 0).Add(text, style);
}

}  // namespace outbox::demo
