#include "service/metrics/gauge_families.h"

namespace outbox::service {

void GaugeFamilies::Add(std::string_view name, std::string_view help,
                        std::initializer_list<Label> labels, double value) {
  prometheus::MetricFamily& family = families_[std::string(name)];
  if (family.name.empty()) {
    family.name = name;
    family.help = help;
    family.type = prometheus::MetricType::Gauge;
  }
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  metric.gauge.value = value;
  for (const auto& [label, text] : labels) {
    metric.label.push_back({std::string(label), std::string(text)});
  }
}

std::vector<prometheus::MetricFamily> GaugeFamilies::Take() {
  std::vector<prometheus::MetricFamily> families;
  for (auto& [name, family] : families_) families.push_back(std::move(family));
  families_.clear();
  return families;
}

}  // namespace outbox::service
