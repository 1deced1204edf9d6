#include "cli/table.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/text.h"

namespace outbox::cli {
namespace {

constexpr std::string_view kGap = "  ";
// The first `width` columns of a text; a cut text ends in "…".
std::string CutText(const std::string& text, std::size_t width) {
  if (DisplayWidth(text) <= width) return text;
  std::string_view kept = text;
  do {
    kept = WithoutLast(kept);
  } while (!kept.empty() && DisplayWidth(kept) >= width);
  return base::StrCat(kept, "…");
}

std::string Padding(std::size_t used, std::size_t width) {
  return std::string(width > used ? width - used : 0, ' ');
}

}  // namespace

void Table::Add(std::vector<Cell> row) {
  OUTBOX_CHECK(row.size() == columns_.size());
  for (Cell& cell : row) cell.text = Harmless(cell.text);
  rows_.push_back(std::move(row));
}

const std::string& Table::TitleOf(std::size_t column, bool brief) const {
  const Column& about = columns_[column];
  return brief && !about.brief.empty() ? about.brief : about.title;
}

bool Table::IsEmpty(std::size_t column) const {
  return std::ranges::all_of(rows_, [&](const auto& row) { return row[column].text.empty(); });
}

Table::Layout Table::Measure(std::vector<std::size_t> columns, bool brief) const {
  Layout layout{.brief = brief, .columns = std::move(columns)};
  for (const std::size_t column : layout.columns) {
    std::size_t width = DisplayWidth(TitleOf(column, brief));
    for (const auto& row : rows_) width = std::max(width, DisplayWidth(row[column].text));
    layout.widths.push_back(width);
    layout.total += width + (layout.total > 0 ? kGap.size() : 0);
  }
  return layout;
}

Table::Layout Table::Cut(Layout layout, std::size_t width) const {
  for (std::size_t i = layout.columns.size(); i-- > 0 && layout.total > width;) {
    const Column& column = columns_[layout.columns[i]];
    if (!column.cut || layout.widths[i] <= column.width_least) continue;
    const std::size_t less = std::min(layout.total - width, layout.widths[i] - column.width_least);
    layout.widths[i] -= less;
    layout.total -= less;
  }
  return layout;
}

std::optional<std::size_t> Table::LeastWanted(const std::vector<std::size_t>& columns,
                                              bool only_empty) const {
  std::optional<std::size_t> least;
  for (const std::size_t column : columns) {
    const int rank = columns_[column].leave_out;
    if (rank == 0 || (only_empty && !IsEmpty(column))) continue;
    if (!least || rank > columns_[*least].leave_out) least = column;
  }
  return least;
}

Table::Layout Table::Fit(std::size_t width) const {
  std::vector<std::size_t> columns(columns_.size());
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  Layout layout = Measure(columns, false);
  if (width == 0 || layout.total <= width) return layout;
  while (true) {
    layout = Measure(columns, true);
    if (layout.total <= width) return layout;
    auto least = LeastWanted(columns, true);
    if (!least) {
      layout = Cut(std::move(layout), width);
      if (layout.total <= width) return layout;
      least = LeastWanted(columns, false);
    }
    if (!least) return layout;
    std::erase(columns, *least);
  }
}

std::string Table::Aligned(std::size_t width, bool colour) const {
  const Layout layout = Fit(width);
  std::string out;
  const auto add = [&](std::size_t i, const std::string& text, Style style) {
    const Column& column = columns_[layout.columns[i]];
    const std::string shown = column.cut ? CutText(text, layout.widths[i]) : text;
    const std::string padding = Padding(DisplayWidth(shown), layout.widths[i]);
    const bool last = i + 1 == layout.columns.size();
    out += column.right ? padding : "";
    out += Styled(shown, style, colour);
    out += column.right || last ? "" : padding;
    out += last ? "\n" : kGap;
  };
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    add(i, TitleOf(layout.columns[i], layout.brief), Style::kBold);
  }
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < layout.columns.size(); ++i) {
      const Cell& cell = row[layout.columns[i]];
      add(i, cell.text, cell.style);
    }
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
