// Progress: a bar on standard error while something long runs; silent when nobody looks.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace outbox::cli {

// Used by one thread. The bar is removed when the object goes.
class Progress {
 public:
  // `total` in the same unit as Update's `done`; without one a count is shown instead of a bar.
  Progress(std::string label, std::optional<std::uint64_t> total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `note` is shown behind the bar: "12,000 messages". Draws a few times a second at most.
  void Update(std::uint64_t done, const std::string& note);

 private:
  const std::string label_;
  const std::optional<std::uint64_t> total_;
  const bool visible_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace outbox::cli
