// Figure: one line of the report. What was measured, what it is compared with, and the bar.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace outbox::bench {

struct Spread {
  double median = 0;
  double min = 0;
  double max = 0;
};

// Of at least one sample.
Spread Summarise(std::vector<double> samples);

// The exact percentile of all samples (nearest rank), `fraction` in (0, 1]. Sorts them.
double Percentile(std::vector<double>& samples, double fraction);

struct Bar {
  enum class Sense { kAtLeast, kAtMost };
  Sense sense = Sense::kAtLeast;
  double limit = 0;

  static Bar AtLeast(double limit) { return {Sense::kAtLeast, limit}; }
  static Bar AtMost(double limit) { return {Sense::kAtMost, limit}; }
};

struct Figure {
  std::string scenario;
  std::string store;
  std::string what;
  std::string unit;
  bool rival = false;  // somebody else's, shown for comparison
  // One sample per round.
  std::vector<double> rounds;
  // The other side of the comparison, round by round; empty: compared with nothing.
  std::string against;
  std::vector<double> baseline;
  // For the ratio when there is a baseline, for the value otherwise.
  std::optional<Bar> bar;

  Spread value() const { return Summarise(rounds); }
  // Of the rounds, pair by pair: what slows a round down slows both of its sides.
  std::optional<Spread> ratio() const;
  // No value without a bar. The median decides.
  std::optional<bool> passed() const;
};

}  // namespace outbox::bench
