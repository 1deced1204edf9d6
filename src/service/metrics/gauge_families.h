// GaugeFamilies: builds gauges at the moment of a scrape, for values that may be absent.
#pragma once

#include <prometheus/metric_family.h>

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outbox::service {

class GaugeFamilies {
 public:
  using Label = std::pair<std::string_view, std::string_view>;

  // `help` is that of the first call with this name.
  void Add(std::string_view name, std::string_view help, std::initializer_list<Label> labels,
           double value);
  std::vector<prometheus::MetricFamily> Take();

 private:
  std::map<std::string, prometheus::MetricFamily, std::less<>> families_;
};

}  // namespace outbox::service
