// Line: one line of a terminal, built from styled pieces and cut to a width.
//
// Widths are counted in code points; the view uses none that take two cells or none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace outbox::demo {

enum class Style : std::uint8_t { kPlain, kDim, kBold, kGood, kWarn, kBad, kAccent, kKey };

class Line {
 public:
  explicit Line(std::size_t width) : width_(width) {}

  // What does not fit is left out.
  Line& Add(std::string_view text, Style style = Style::kPlain);
  // Blanks up to column `column`; at least one when something is there already.
  Line& To(std::size_t column);
  // Blanks so that `text` would end at the right edge, then the text.
  Line& Right(std::string_view text, Style style = Style::kPlain);

  std::size_t used() const { return used_; }
  // With escape sequences, each style reset at its end.
  const std::string& text() const { return text_; }

 private:
  const std::size_t width_;
  std::size_t used_ = 0;
  std::string text_;
};

// Code points of a UTF-8 text.
std::size_t DisplayWidth(std::string_view text) noexcept;

}  // namespace outbox::demo
