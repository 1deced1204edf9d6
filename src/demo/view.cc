#include "demo/view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/text.h"
#include "demo/line.h"

namespace outbox::demo {
namespace {

using base::StrCat;
using std::chrono::milliseconds;

constexpr std::size_t kMargin = 2;
constexpr std::size_t kIncidentRows = 4;

std::string AgeText(milliseconds duration) {
  char text[32];
  const double seconds = static_cast<double>(duration.count()) / 1000;
  std::snprintf(text, sizeof text, seconds < 10 ? "%.2f s" : "%.0f s", seconds);
  return text;
}

// 1234567 as "1,234,567".
std::string Grouped(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

Style StyleOf(RelayState state) {
  switch (state) {
    case RelayState::kRunning: return Style::kGood;
    case RelayState::kWaitingForSink: return Style::kBad;
    case RelayState::kStarting:
    case RelayState::kStandby:
    case RelayState::kPaused:
    case RelayState::kDraining:
    case RelayState::kStopped: return Style::kWarn;
  }
  return Style::kPlain;
}

Style StyleOf(SinkCondition condition) {
  switch (condition) {
    case SinkCondition::kWorking: return Style::kGood;
    case SinkCondition::kDown: return Style::kBad;
    case SinkCondition::kRefusing:
    case SinkCondition::kForgetful: return Style::kWarn;
  }
  return Style::kPlain;
}

Style StyleOfVerdict(std::string_view verdict) {
  if (verdict == "delivered") return Style::kGood;
  return verdict == "refused for good" ? Style::kBad : Style::kWarn;
}

class Painter {
 public:
  Painter(const Snapshot& now, ScreenSize size) : now_(now), size_(size) {}

  std::vector<std::string> Paint() {
    Title();
    Path();
    Blank();
    Rate();
    Lag();
    Blank();
    Counts();
    Blank();
    const std::size_t below = kIncidentRows + 4;  // chronicle, its heading, a blank and the keys
    Arrivals(size_.rows - lines_.size() - below);
    Blank();
    Chronicle();
    while (lines_.size() + 2 < size_.rows) Blank();
    Keys();
    return lines_;
  }

 private:
  Line Start() const { return Line(size_.columns); }
  void Put(const Line& line) { lines_.push_back(line.text()); }
  void Blank() { lines_.emplace_back(); }

  void Title() {
    Put(Start()
            .To(kMargin)
            .Add("outboxd demo", Style::kBold)
            .Add("  ")
            .Add(now_.database, Style::kDim)
            .Right(StrCat(AgeText(now_.elapsed), "  "), Style::kDim));
    Blank();
  }

  // The data path, with the state of what can fail.
  void Path() {
    Line path = Start();
    path.To(kMargin)
        .Add("shop ")
        .Add(StrCat(now_.orders_per_second, "/s"), Style::kAccent)
        .Add(" ──▶ [ orders + outbox ] ──▶ relay ")
        .Add(StrCat("● ", now_.relay.state == RelayState::kWaitingForSink
                              ? "waiting"
                              : ToString(now_.relay.state)),
             StyleOf(now_.relay.state))
        .Add(" ──▶ sink ")
        .Add(StrCat("● ", demo::ToString(now_.sink)), StyleOf(now_.sink));
    Put(path);
    Line why = Start();
    if (now_.relay.state == RelayState::kWaitingForSink) {
      why.To(kMargin).Add(StrCat("waiting for the sink: ", now_.relay.why), Style::kBad);
      if (now_.since_probe) {
        why.Add(StrCat("; ", now_.probes, " probes, the last ", AgeText(*now_.since_probe), " ago"),
                Style::kDim);
      }
    }
    Put(why);
  }

  void Rate() {
    const double rate = now_.rates.empty() ? 0 : now_.rates.back();
    char text[32];
    std::snprintf(text, sizeof text, "%6.0f/s", rate);
    Put(Start()
            .To(kMargin)
            .Add("rate", Style::kDim)
            .To(8)
            .Add(text, Style::kBold)
            .To(20)
            .Add(Sparkline(now_.rates, size_.columns - 20 - kMargin), Style::kAccent));
  }

  void Lag() {
    const milliseconds lag = now_.oldest_age.value_or(milliseconds::zero());
    const Style style = lag < milliseconds(500)    ? Style::kGood
                        : lag < milliseconds(3000) ? Style::kWarn
                                                   : Style::kBad;
    char text[32];
    std::snprintf(text, sizeof text, "%8s", AgeText(lag).c_str());
    Put(Start()
            .To(kMargin)
            .Add("lag", Style::kDim)
            .To(8)
            .Add(text, style)
            .To(20)
            .Add(StrCat("age of the oldest undelivered message; ", now_.in_flight, " in flight"),
                 Style::kDim));
  }

  void Counts() {
    struct Figure {
      std::string_view name;
      std::uint64_t value;
      Style style;
    };
    const auto alarming = [](std::uint64_t value, Style style) {
      return value > 0 ? style : Style::kBold;
    };
    const std::array figures{
        Figure{"committed", now_.counts.committed, Style::kBold},
        Figure{"delivered", now_.counts.delivered, Style::kGood},
        Figure{"pending", now_.pending(), Style::kBold},
        Figure{"retried", now_.relay.retried, alarming(now_.relay.retried, Style::kWarn)},
        Figure{"dead", now_.counts.dead, alarming(now_.counts.dead, Style::kBad)},
        Figure{"duplicates", now_.counts.duplicates,
               alarming(now_.counts.duplicates, Style::kWarn)}};
    constexpr std::size_t kColumn = 12;
    Line names = Start();
    Line values = Start();
    for (std::size_t i = 0; i < figures.size(); ++i) {
      const std::size_t end = kMargin + (i + 1) * kColumn;
      const std::string value = Grouped(figures[i].value);
      names.To(end - figures[i].name.size()).Add(figures[i].name, Style::kDim);
      values.To(end - value.size()).Add(value, figures[i].style);
    }
    Put(names);
    Put(values);
  }

  void Arrivals(std::size_t rows) {
    Put(Start().To(kMargin).Add("last messages at the sink", Style::kDim));
    for (std::size_t i = 0; i + 1 < rows; ++i) {
      Line line = Start();
      if (i < now_.arrivals.size()) {
        const Arrival& arrival = now_.arrivals[i];
        line.To(kMargin)
            .Add(StrCat("#", arrival.seq))
            .To(12)
            .Add(arrival.topic)
            .To(35)
            .Add(arrival.key, Style::kAccent)
            .To(46)
            .Add(StrCat("attempt ", arrival.attempt), Style::kDim)
            .To(58)
            .Add(arrival.verdict, StyleOfVerdict(arrival.verdict))
            .Right(StrCat(AgeText(arrival.age), "  "), Style::kDim);
      }
      Put(line);
    }
  }

  void Chronicle() {
    Put(Start().To(kMargin).Add("what happened", Style::kDim));
    for (std::size_t i = 0; i < std::min(kIncidentRows, now_.incidents.size()); ++i) {
      const Incident& incident = now_.incidents[i];
      char at[24];
      std::snprintf(at, sizeof at, "%6.1f s", static_cast<double>(incident.at.count()) / 1000);
      Put(Start().To(kMargin).Add(at, Style::kDim).Add("  ").Add(incident.text));
    }
  }

  void Keys() {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kKeys{{
        {"b", "break"},
        {"m", "mend"},
        {"f", "refuse"},
        {"l", "forget"},
        {"p", "poison"},
        {"r", "restart"},
        {"+-", "rate"},
        {"q", "quit"},
    }};
    Blank();
    Line keys = Start();
    keys.To(kMargin);
    for (const auto& [key, meaning] : kKeys) {
      keys.Add(key, Style::kKey).Add(StrCat(" ", meaning, "  "));
    }
    Put(keys);
  }

  const Snapshot& now_;
  const ScreenSize size_;
  std::vector<std::string> lines_;
};

}  // namespace

std::string Sparkline(const std::vector<double>& values, std::size_t width) {
  constexpr std::array kBars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t shown = std::min(values.size(), width);
  const auto first = values.end() - static_cast<std::ptrdiff_t>(shown);
  const double top = shown == 0 ? 0 : *std::max_element(first, values.end());
  std::string text;
  for (auto value = first; value != values.end(); ++value) {
    const auto eighths =
        static_cast<std::size_t>(std::ceil(std::sqrt(*value / top) * kBars.size()));
    text += *value > 0 ? kBars[eighths - 1] : " ";
  }
  return text;
}

std::vector<std::string> Render(const Snapshot& now, ScreenSize size) {
  if (size.columns < kScreenMin.columns || size.rows < kScreenMin.rows) {
    std::vector<std::string> lines(std::max<std::size_t>(size.rows, 1));
    Line line(size.columns);
    lines[0] =
        line.Add(StrCat("the demo needs ", kScreenMin.columns, "x", kScreenMin.rows, "; q quits"))
            .text();
    return lines;
  }
  return Painter(now, size).Paint();
}

}  // namespace outbox::demo
