// ProcessCollector: the metrics of the process itself, under the names that all exporters use,
// read from /proc at each scrape. What can not be read is left out.
//
// Threads: any.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <string>
#include <vector>

namespace outbox::service {

class ProcessCollector final : public prometheus::Collectable {
 public:
  // `proc` is where the kernel's files are; tests have others.
  explicit ProcessCollector(std::string proc = "/proc") : proc_(std::move(proc)) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::string proc_;
};

}  // namespace outbox::service
