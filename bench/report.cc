#include "bench/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace outbox::bench {
namespace {

using base::StrCat;

// Characters as a terminal shows them; every text here is UTF-8 of single-width characters.
std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string Left(std::string text, std::size_t width) {
  text.append(width - std::min(width, Width(text)), ' ');
  return text;
}

std::string Right(std::string text, std::size_t width) {
  text.insert(0, width - std::min(width, Width(text)), ' ');
  return text;
}

std::string FormatRange(const Spread& spread, bool single) {
  if (single) return "";
  return StrCat(FormatNumber(spread.min), "–", FormatNumber(spread.max));
}

std::string FormatBar(const Figure& figure) {
  if (!figure.bar) return "";
  const bool at_least = figure.bar->sense == Bar::Sense::kAtLeast;
  return StrCat(at_least ? "≥ " : "≤ ", FormatNumber(figure.bar->limit),
                figure.baseline.empty() ? "" : "×");
}

std::string FormatVerdict(const Figure& figure) {
  const auto passed = figure.passed();
  if (!passed) return "";
  return *passed ? "ok" : "MISSED";
}

constexpr std::size_t kColumns = 8;
using Cells = std::array<std::string, kColumns>;

Cells CellsOf(const Figure& figure) {
  const bool single = figure.rounds.size() == 1;
  const auto ratio = figure.ratio();
  return {figure.what,
          FormatNumber(figure.value().median),
          figure.unit,
          FormatRange(figure.value(), single),
          ratio ? StrCat(FormatNumber(ratio->median), "× ", figure.against) : "",
          ratio ? FormatRange(*ratio, single) : "",
          FormatBar(figure),
          FormatVerdict(figure)};
}

}  // namespace

bool Report::AllBarsPassed() const {
  return std::all_of(figures.begin(), figures.end(),
                     [](const Figure& figure) { return figure.passed().value_or(true); });
}

std::string FormatNumber(double value) {
  const double size = std::abs(value);
  const int decimals = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  char digits[64];
  std::snprintf(digits, sizeof digits, "%.*f", decimals, value);
  std::string text = digits;
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  for (std::size_t at = point; at > first + 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string FormatTable(const Report& report) {
  std::vector<Cells> rows;
  for (const Figure& figure : report.figures) rows.push_back(CellsOf(figure));
  std::array<std::size_t, kColumns> widths{};
  for (const Cells& row : rows) {
    for (std::size_t c = 0; c < kColumns; ++c) widths[c] = std::max(widths[c], Width(row[c]));
  }
  std::string out;
  std::size_t label = 0;
  for (const auto& [name, value] : report.machine) label = std::max(label, Width(name));
  for (const auto& [name, value] : report.machine)
    out += StrCat(Left(name, label + 2), value, "\n");

  std::string group;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Figure& figure = report.figures[i];
    const std::string title = StrCat(figure.scenario, ", ", figure.store);
    if (title != group) out += StrCat("\n", title, "\n");
    group = title;
    const Cells& row = rows[i];
    std::string line = StrCat("  ", Left(row[0], widths[0]), "  ", Right(row[1], widths[1]), " ");
    for (std::size_t c = 2; c < kColumns; ++c) {
      if (widths[c] > 0) line += Left(row[c], widths[c]) + "  ";
    }
    out += StrCat(line.substr(0, line.find_last_not_of(' ') + 1), "\n");
  }
  if (!report.notes.empty()) out += "\n";
  for (const std::string& note : report.notes) out += StrCat("note: ", note, "\n");
  return out;
}

std::string FormatJson(const Report& report) {
  using Json = nlohmann::ordered_json;
  const auto spread = [](const Spread& s) {
    return Json{{"median", s.median}, {"min", s.min}, {"max", s.max}};
  };
  Json machine = Json::object();
  for (const auto& [name, value] : report.machine) machine[name] = value;
  Json figures = Json::array();
  for (const Figure& figure : report.figures) {
    Json entry{{"scenario", figure.scenario},
               {"store", figure.store},
               {"what", figure.what},
               {"unit", figure.unit},
               {"value", spread(figure.value())},
               {"rounds", figure.rounds}};
    if (const auto ratio = figure.ratio()) {
      entry["against"] = figure.against;
      entry["baseline"] = figure.baseline;
      entry["ratio"] = spread(*ratio);
    }
    if (figure.bar) {
      const bool at_least = figure.bar->sense == Bar::Sense::kAtLeast;
      entry["bar"] = Json{{at_least ? "at_least" : "at_most", figure.bar->limit}};
      entry["passed"] = *figure.passed();
    }
    figures.push_back(std::move(entry));
  }
  const Json document{{"machine", machine}, {"figures", figures}, {"notes", report.notes}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace outbox::bench
