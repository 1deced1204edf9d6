#include "bench/figure.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace outbox::bench {

Spread Summarise(std::vector<double> samples) {
  OUTBOX_CHECK(!samples.empty());
  std::sort(samples.begin(), samples.end());
  const std::size_t middle = samples.size() / 2;
  const bool even = samples.size() % 2 == 0;
  return {.median = even ? (samples[middle - 1] + samples[middle]) / 2 : samples[middle],
          .min = samples.front(),
          .max = samples.back()};
}

double Percentile(std::vector<double>& samples, double fraction) {
  OUTBOX_CHECK(!samples.empty() && fraction > 0 && fraction <= 1);
  std::sort(samples.begin(), samples.end());
  const double rank = std::ceil(fraction * static_cast<double>(samples.size()));
  return samples[static_cast<std::size_t>(rank) - 1];
}

std::optional<Spread> Figure::ratio() const {
  if (baseline.empty()) return std::nullopt;
  OUTBOX_CHECK(baseline.size() == rounds.size());
  std::vector<double> ratios;
  for (std::size_t i = 0; i < rounds.size(); ++i) ratios.push_back(rounds[i] / baseline[i]);
  return Summarise(std::move(ratios));
}

std::optional<bool> Figure::passed() const {
  if (!bar) return std::nullopt;
  const double decisive = ratio().value_or(value()).median;
  return bar->sense == Bar::Sense::kAtLeast ? decisive >= bar->limit : decisive <= bar->limit;
}

}  // namespace outbox::bench
