// RateSampler: turns a growing count into a history of rates.
//
// Threads: used by one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace outbox::demo {

class RateSampler {
 public:
  static constexpr std::chrono::milliseconds kPeriod{500};
  static constexpr std::size_t kSamplesMax = 512;

  // Call often; takes a sample when a period has passed.
  void Update(std::chrono::milliseconds now, std::uint64_t count) {
    if (now - taken_at_ < kPeriod) return;
    const double seconds = std::chrono::duration<double>(now - taken_at_).count();
    if (rates_.size() == kSamplesMax) rates_.erase(rates_.begin());
    rates_.push_back(static_cast<double>(count - count_) / seconds);
    taken_at_ = now;
    count_ = count;
  }

  // A second, oldest first.
  const std::vector<double>& rates() const { return rates_; }

 private:
  std::chrono::milliseconds taken_at_{0};
  std::uint64_t count_ = 0;
  std::vector<double> rates_;
};

}  // namespace outbox::demo
