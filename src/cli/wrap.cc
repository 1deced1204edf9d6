#include "cli/wrap.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "base/text.h"
#include "cli/terminal.h"

namespace outbox::cli {
namespace {

constexpr std::string_view kIndent = "  ";
constexpr std::size_t kTextWidthMin = 20;

// "{a,b}" into "{a," and "b}", "HOST[:PORT]" into "HOST" and "[:PORT]".
std::vector<std::string> Pieces(const std::string& word) {
  std::vector<std::string> pieces{""};
  for (const char c : word) {
    if ((c == '[' || c == '<') && !pieces.back().empty()) pieces.emplace_back();
    pieces.back() += c;
    if (c == ',' || c == '|') pieces.emplace_back();
  }
  if (pieces.back().empty()) pieces.pop_back();
  return pieces;
}

}  // namespace

std::vector<std::string> WrapLines(std::string_view text, std::size_t width) {
  std::vector<std::string> lines{""};
  const auto append = [&](const std::string& part, std::string_view gap) {
    std::string& line = lines.back();
    if (line.empty()) {
      line = part;
    } else if (DisplayWidth(line) + gap.size() + DisplayWidth(part) <= width) {
      line += base::StrCat(gap, part);
    } else {
      lines.push_back(part);
    }
  };
  for (const std::string& word : base::Split(text, ' ')) {
    if (DisplayWidth(word) <= width) {
      append(word, " ");
      continue;
    }
    std::string_view gap = " ";
    for (const std::string& piece : Pieces(word)) append(piece, std::exchange(gap, ""));
  }
  return lines;
}

std::vector<std::string> BreakLines(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  for (std::string& line : WrapLines(text, width)) {
    std::string_view rest = line;
    while (DisplayWidth(rest) > width) {
      std::string_view head = rest;
      while (DisplayWidth(head) > width) head = WithoutLast(head);
      if (head.empty()) break;
      lines.emplace_back(head);
      rest.remove_prefix(head.size());
    }
    lines.emplace_back(rest);
  }
  return lines;
}

std::string FitTerminal(std::string_view line, int fd) {
  const std::size_t width = TerminalWidth(fd);
  if (width == 0) return base::StrCat(line, "\n");
  const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
  const std::string indent(start, ' ');
  const std::string further = start == 0 ? "" : base::StrCat(indent, kIndent);
  const std::size_t room = width - std::min(width / 2, further.size());
  return base::StrCat(
      indent, base::Join(WrapLines(line.substr(start), room), base::StrCat("\n", further)), "\n");
}

void PrintLine(std::string_view line) { std::cout << FitTerminal(Harmless(line), STDOUT_FILENO); }

void PrintNote(std::string_view line) { std::cerr << FitTerminal(Harmless(line), STDERR_FILENO); }

std::string WrapEntry(std::string_view name, std::string_view text, std::size_t name_width,
                      std::size_t width) {
  const std::string margin(name_width, ' ');
  std::string out;
  std::string line;
  for (const std::string& part : WrapLines(name, width - kIndent.size())) {
    if (!line.empty()) out += line + "\n";
    line = base::StrCat(kIndent, part);
  }
  if (text.empty()) return out + line + "\n";
  if (DisplayWidth(line) >= name_width) {
    out += line + "\n";
    line.clear();
  }
  const std::size_t room = std::max(kTextWidthMin, width - std::min(width, name_width));
  for (const std::string& part : WrapLines(text, room)) {
    const std::size_t used = DisplayWidth(line);
    out += base::StrCat(line, margin.substr(std::min(used, margin.size())), part, "\n");
    line.clear();
  }
  return out;
}

}  // namespace outbox::cli
