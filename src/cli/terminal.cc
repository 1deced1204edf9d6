#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "base/text.h"

namespace outbox::cli {

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

std::size_t DisplayWidth(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

bool Confirm(std::string_view question) {
  std::cerr << question << " [y/N] " << std::flush;
  std::string answer;
  if (!std::getline(std::cin, answer)) {
    std::cerr << '\n';
    return false;
  }
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace outbox::cli
