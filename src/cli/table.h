// Table: rows in aligned columns for people, tab-separated for pipes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal.h"

namespace outbox::cli {

// A table that is wider than the terminal takes its brief titles, then leaves out columns that are
// empty in every row, then cuts those that may be cut, from the last to the first, then leaves out
// others, which may spare the cutting.
struct Column {
  std::string title;
  std::string brief = {};       // the title of a narrow table; empty: the same
  bool right = false;           // numbers
  bool cut = false;             // may be shortened
  std::size_t width_least = 8;  // to no less than this
  int leave_out = 0;            // the higher, the sooner it is left out; 0: never
};

struct Cell {
  Cell(std::string text_in, Style style_in = Style::kPlain)  // NOLINT: implicit, for brace lists
      : text(std::move(text_in)), style(style_in) {}

  std::string text;
  Style style;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns. Control characters become spaces.
  void Add(std::vector<Cell> row);
  bool empty() const noexcept { return rows_.empty(); }

  // Aligned, with a header, at most `width` columns wide (0: as wide as it gets).
  std::string Aligned(std::size_t width, bool colour) const;
  // A header and rows, cells separated by tabs and never cut.
  std::string TabSeparated() const;
  // Aligned on a terminal, tab-separated elsewhere.
  std::string For(int fd) const;

 private:
  struct Layout {
    bool brief = false;
    std::vector<std::size_t> columns;  // that are shown
    std::vector<std::size_t> widths;   // of these
    std::size_t total = 0;
  };

  const std::string& TitleOf(std::size_t column, bool brief) const;
  bool IsEmpty(std::size_t column) const;
  Layout Measure(std::vector<std::size_t> columns, bool brief) const;
  Layout Cut(Layout layout, std::size_t width) const;
  // The one of these columns to be left out next.
  std::optional<std::size_t> LeastWanted(const std::vector<std::size_t>& columns,
                                         bool only_empty) const;
  Layout Fit(std::size_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace outbox::cli
