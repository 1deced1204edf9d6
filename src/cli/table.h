// Table: rows in aligned columns for people, tab-separated for pipes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/terminal.h"

namespace outbox::cli {

struct Column {
  std::string title;
  bool right = false;  // numbers
  bool cut = false;    // shortened when the table is wider than the terminal
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
  std::vector<std::size_t> Widths(std::size_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace outbox::cli
