#include "cli/wrap.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/terminal.h"

namespace outbox::cli {
namespace {

constexpr std::string_view kIndent = "  ";
constexpr std::size_t kTextWidthMin = 20;

// "{a,b}" into "{a," and "b}".
std::vector<std::string> Pieces(const std::string& word) {
  std::vector<std::string> pieces{""};
  for (const char c : word) {
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
