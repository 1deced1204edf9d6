#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <span>

#include "base/text.h"
#include "cli/wrap.h"

namespace outbox::cli {
namespace {

struct Range {
  char32_t first, last;
};

// Unicode's East_Asian_Width W and F, in coarse ranges.
constexpr std::array kWide{
    Range{0x1100, 0x115F},   Range{0x231A, 0x231B},   Range{0x2329, 0x232A},
    Range{0x23E9, 0x23EC},   Range{0x2614, 0x2615},   Range{0x2648, 0x2653},
    Range{0x26A1, 0x26A1},   Range{0x2705, 0x2705},   Range{0x274C, 0x274C},
    Range{0x2753, 0x2757},   Range{0x2795, 0x2797},   Range{0x2B1B, 0x2B1C},
    Range{0x2B50, 0x2B50},   Range{0x2E80, 0x303E},   Range{0x3041, 0x33FF},
    Range{0x3400, 0x4DBF},   Range{0x4E00, 0x9FFF},   Range{0xA000, 0xA4CF},
    Range{0xA960, 0xA97C},   Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},
    Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},
    Range{0x16FE0, 0x18CFF}, Range{0x1B000, 0x1B2FF}, Range{0x1F18E, 0x1F19A},
    Range{0x1F1E6, 0x1F202}, Range{0x1F210, 0x1F64F}, Range{0x1F680, 0x1F6FF},
    Range{0x1F7E0, 0x1F7EB}, Range{0x1F900, 0x1FAFF}, Range{0x20000, 0x3FFFD}};

constexpr std::array kCombining{Range{0x0300, 0x036F}, Range{0x0483, 0x0489}, Range{0x0591, 0x05BD},
                                Range{0x064B, 0x065F}, Range{0x1AB0, 0x1AFF}, Range{0x1DC0, 0x1DFF},
                                Range{0x200B, 0x200F}, Range{0x20D0, 0x20FF}, Range{0xFE00, 0xFE0F},
                                Range{0xFE20, 0xFE2F}, Range{0xFEFF, 0xFEFF}};

bool IsIn(std::span<const Range> ranges, char32_t character) noexcept {
  return std::ranges::any_of(ranges, [&](const Range& range) {
    return character >= range.first && character <= range.last;
  });
}

std::size_t WidthOf(char32_t character) noexcept {
  if (character < 0x300) return 1;
  if (IsIn(kCombining, character)) return 0;
  return IsIn(kWide, character) ? 2 : 1;
}

// Moves `at` behind the character of UTF-8 there; a byte that starts none counts as one.
char32_t NextCharacter(std::string_view text, std::size_t& at) noexcept {
  const auto first = static_cast<unsigned char>(text[at++]);
  const int length = std::countl_one(first);
  if (length < 2 || length > 4) return first;
  char32_t character = first & (0x7FU >> length);
  for (int i = 1; i < length && at < text.size(); ++i, ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if ((byte & 0xC0) != 0x80) break;
    character = character << 6 | (byte & 0x3F);
  }
  return character;
}

}  // namespace

bool IsTerminal(int fd) noexcept { return isatty(fd) == 1; }

bool UseColour(int fd) noexcept {
  const char* no_color = std::getenv("NO_COLOR");
  return IsTerminal(fd) && (no_color == nullptr || *no_color == '\0');
}

std::size_t TerminalWidth(int fd) noexcept {
  winsize size{};
  if (!IsTerminal(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

std::string Styled(std::string_view text, Style style, bool colour) {
  if (!colour || style == Style::kPlain || text.empty()) return std::string(text);
  std::string_view code;
  switch (style) {
    case Style::kPlain: break;
    case Style::kBold: code = "1"; break;
    case Style::kDim: code = "2"; break;
    case Style::kGood: code = "32"; break;
    case Style::kWarn: code = "33"; break;
    case Style::kBad: code = "31"; break;
  }
  return base::StrCat("\x1b[", code, "m", text, "\x1b[0m");
}

void PrintJson(std::string_view json, std::ostream& out) {
  out << base::HarmlessJson(json) << '\n';
}

std::size_t DisplayWidth(std::string_view text) noexcept {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) width += WidthOf(NextCharacter(text, at));
  return width;
}

std::string_view WithoutLast(std::string_view text) noexcept {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    if (WidthOf(NextCharacter(text, at)) > 0) end = start;
  }
  return text.substr(0, end);
}

bool Confirm(std::string_view question) {
  std::string asked = FitTerminal(base::StrCat(Harmless(question), " [y/N]"), STDERR_FILENO);
  asked.back() = ' ';
  std::cerr << asked << std::flush;
  std::string answer;
  if (!std::getline(std::cin, answer)) {
    std::cerr << '\n';
    return false;
  }
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace outbox::cli
