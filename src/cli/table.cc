#include "cli/table.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/text.h"

namespace outbox::cli {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::size_t kCutWidthMin = 8;  // a column is not cut below this

// The first `width` characters; a cut text ends in "…".
std::string Cut(const std::string& text, std::size_t width) {
  if (DisplayWidth(text) <= width) return text;
  std::size_t end = 0;
  for (std::size_t characters = 0; end < text.size(); ++end) {
    const bool starts = (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
    if (starts && ++characters == width) break;
  }
  return text.substr(0, end) + "…";
}

std::string Padding(std::size_t used, std::size_t width) {
  return std::string(width > used ? width - used : 0, ' ');
}

}  // namespace

void Table::Add(std::vector<Cell> row) {
  OUTBOX_CHECK(row.size() == columns_.size());
  for (Cell& cell : row) {
    std::replace_if(
        cell.text.begin(), cell.text.end(),
        [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  }
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::Widths(std::size_t width) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(DisplayWidth(column.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row[i].text));
    }
  }
  if (width == 0) return widths;
  std::size_t total = std::accumulate(widths.begin(), widths.end(), std::size_t{0}) +
                      kGap.size() * (columns_.size() - 1);
  for (std::size_t i = columns_.size(); i-- > 0 && total > width;) {
    if (!columns_[i].cut || widths[i] <= kCutWidthMin) continue;
    const std::size_t less = std::min(total - width, widths[i] - kCutWidthMin);
    widths[i] -= less;
    total -= less;
  }
  return widths;
}

std::string Table::Aligned(std::size_t width, bool colour) const {
  const std::vector<std::size_t> widths = Widths(width);
  std::string out;
  const auto add = [&](std::size_t i, const std::string& text, Style style) {
    const std::string shown = columns_[i].cut ? Cut(text, widths[i]) : text;
    const std::string padding = Padding(DisplayWidth(shown), widths[i]);
    const bool last = i + 1 == columns_.size();
    out += columns_[i].right ? padding : "";
    out += Styled(shown, style, colour);
    out += columns_[i].right || last ? "" : padding;
    out += last ? "\n" : kGap;
  };
  for (std::size_t i = 0; i < columns_.size(); ++i) add(i, columns_[i].title, Style::kBold);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) add(i, row[i].text, row[i].style);
  }
  return out;
}

std::string Table::TabSeparated() const {
  std::string out;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    out += base::StrCat(columns_[i].title, i + 1 == columns_.size() ? '\n' : '\t');
  }
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += base::StrCat(row[i].text, i + 1 == row.size() ? '\n' : '\t');
    }
  }
  return out;
}

std::string Table::For(int fd) const {
  return IsTerminal(fd) ? Aligned(TerminalWidth(fd), UseColour(fd)) : TabSeparated();
}

}  // namespace outbox::cli
