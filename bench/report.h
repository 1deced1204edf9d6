// Report: the figures of a run and the machine they were measured on, as a table, JSON and a plot.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/figure.h"

namespace outbox::bench {

struct Report {
  // "CPU" → "AMD EPYC, 2 cores", in the order to be shown.
  std::vector<std::pair<std::string, std::string>> machine;
  std::vector<Figure> figures;
  // Things a reader must know: scenarios left out or failed, and why.
  std::vector<std::string> notes;

  bool AllBarsPassed() const;
};

// For people: aligned, at most 110 columns or so.
std::string FormatTable(const Report& report);

std::string FormatJson(const Report& report);

// Horizontal bars, one group per scenario; readable on light and dark pages.
std::string FormatSvg(const Report& report);

// 1234567.8 → "1,234,568"; small numbers keep three significant digits.
std::string FormatNumber(double value);

}  // namespace outbox::bench
