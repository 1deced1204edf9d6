#include <algorithm>
#include <map>

#include "base/text.h"
#include "bench/report.h"

namespace outbox::bench {
namespace {

using base::StrCat;

constexpr int kWidth = 1120;
constexpr int kBarsLeft = 330;
constexpr int kBarsWidth = 330;
constexpr int kRowHeight = 30;
constexpr int kTitleHeight = 44;
constexpr int kMargin = 24;
constexpr int kBarHeight = 12;
constexpr int kBaselineHeight = 5;

constexpr std::string_view kStyle = R"(<style>
  text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #24292f }
  .title { font-size: 14px; font-weight: 600 }
  .head { font-size: 18px; font-weight: 600 }
  .quiet { fill: #6e7781; font-size: 12px }
  .page { fill: #ffffff }
  .track { fill: #eaeef2 }
  .ours { fill: #0969da }
  .other { fill: #8c959f }
  .ok { fill: #1a7f37; font-size: 12px }
  .missed { fill: #cf222e; font-size: 12px }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .quiet { fill: #8d96a0 }
    .page { fill: #0d1117 }
    .track { fill: #21262d }
    .ours { fill: #4493f8 }
    .other { fill: #6e7681 }
    .ok { fill: #3fb950 }
    .missed { fill: #f85149 }
  }
</style>
)";

std::string Escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string Text(int x, int y, std::string_view style, std::string_view text) {
  return StrCat("<text x=\"", x, "\" y=\"", y, "\" class=\"", style, "\">", Escape(text),
                "</text>\n");
}

std::string Box(int x, int y, int width, int height, std::string_view style) {
  return StrCat("<rect x=\"", x, "\" y=\"", y, "\" width=\"", width, "\" height=\"", height,
                "\" rx=\"2\" class=\"", style, "\"/>\n");
}

std::string GroupOf(const Figure& figure) { return StrCat(figure.scenario, ", ", figure.store); }

// Bars are comparable where scenario, store and unit are the same.
std::string ScaleOf(const Figure& figure) { return StrCat(GroupOf(figure), "|", figure.unit); }

std::map<std::string, double> Scales(const Report& report) {
  std::map<std::string, double> scales;
  for (const Figure& figure : report.figures) {
    double& scale = scales[ScaleOf(figure)];
    scale = std::max(scale, figure.value().median);
    if (!figure.baseline.empty()) scale = std::max(scale, Summarise(figure.baseline).median);
  }
  return scales;
}

std::string Row(const Figure& figure, double scale, int y) {
  const auto width = [&](double value) {
    return scale > 0 ? std::max(1, static_cast<int>(value / scale * kBarsWidth)) : 1;
  };
  std::string out = Text(kMargin, y + 12, "", figure.what);
  out += Box(kBarsLeft, y, kBarsWidth, kBarHeight, "track");
  out +=
      Box(kBarsLeft, y, width(figure.value().median), kBarHeight, figure.rival ? "other" : "ours");
  const int x = kBarsLeft + kBarsWidth + 12;
  out += Text(x, y + 12, "", StrCat(FormatNumber(figure.value().median), " ", figure.unit));
  std::string comparison;
  if (const auto ratio = figure.ratio()) {
    out += Box(kBarsLeft, y + kBarHeight + 2, width(Summarise(figure.baseline).median),
               kBaselineHeight, "other");
    comparison = StrCat(FormatNumber(ratio->median), "× ", figure.against);
  }
  if (const auto passed = figure.passed()) {
    const bool at_least = figure.bar->sense == Bar::Sense::kAtLeast;
    comparison += StrCat(comparison.empty() ? "" : " ", *passed ? "✓ " : "✗ ", at_least ? "≥" : "≤",
                         FormatNumber(figure.bar->limit));
    out += Text(x + 130, y + 12, *passed ? "ok" : "missed", comparison);
  } else if (!comparison.empty()) {
    out += Text(x + 130, y + 12, "quiet", comparison);
  }
  return out;
}

std::string Machine(const Report& report) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : report.machine) {
    if (name == "CPU" || name == "memory" || name == "durable write") parts.push_back(value);
    if (name == "server") parts.push_back(value.substr(0, value.find(',')));
  }
  return base::Join(parts, " · ");
}

}  // namespace

std::string FormatSvg(const Report& report) {
  const auto scales = Scales(report);
  std::string body = Text(kMargin, 36, "head", "outboxd bench");
  body += Text(kMargin, 58, "quiet", Machine(report));
  body += Text(kMargin, 76, "quiet", "grey: what the bar above it is compared with");
  int y = 84;
  std::string group;
  for (const Figure& figure : report.figures) {
    if (GroupOf(figure) != group) {
      group = GroupOf(figure);
      y += kTitleHeight;
      body += Text(kMargin, y - 14, "title", group);
    }
    body += Row(figure, scales.at(ScaleOf(figure)), y);
    y += kRowHeight;
  }
  y += kMargin;
  return StrCat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", kWidth, " ", y,
                "\" width=\"", kWidth, "\" height=\"", y, "\" role=\"img\">\n",
                "<title>outboxd bench</title>\n", kStyle, Box(0, 0, kWidth, y, "page"), body,
                "</svg>\n");
}

}  // namespace outbox::bench
