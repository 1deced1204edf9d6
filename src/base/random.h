// Random: where jitter comes from. Injected, so that tests and simulations repeat.
#pragma once

#include <cstdint>
#include <random>

namespace outbox::base {

// Used by one thread at a time.
class Random {
 public:
  virtual ~Random() = default;
  // Uniform in [0, 1).
  virtual double Unit() = 0;
};

// Repeats exactly for a given seed.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}
  double Unit() override { return std::generate_canonical<double, 53>(engine_); }

 private:
  std::mt19937_64 engine_;
};

// 64 unpredictable bits from the operating system's generator. Any thread.
std::uint64_t RandomBits();

}  // namespace outbox::base
