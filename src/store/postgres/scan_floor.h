// ScanFloor: where the next claim's index scan starts.
//
// Rows that were claimed stay in the claim index, or leave dead entries there, until vacuum comes.
// Starting after the last row claimed saves walking over them. Rows can also turn up behind the
// floor: committed late, released, or with an expired lease. So the scan goes back to the very
// beginning once a second and after any failure.
//
// Threads: one at a time.
#pragma once

#include <chrono>
#include <cstdint>

#include "outbox/message.h"

namespace outbox::store::postgres {

struct ScanPosition {
  Timestamp available_at = Timestamp::min();
  std::int64_t seq = 0;
};

class ScanFloor {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::seconds kFromStartEvery{1};
  // After a short batch the next scan starts this much before the last row, for the commits that
  // were under way.
  static constexpr std::chrono::seconds kLateCommits{2};

  // The position after which the scan that begins now starts.
  ScanPosition Start(Clock::time_point now);

  // What that scan found: the last row claimed, and whether it filled the batch.
  void Advance(ScanPosition last, bool full);
  void Reset() noexcept { position_ = {}; }

 private:
  ScanPosition position_;
  Clock::time_point from_start_at_{};
};

}  // namespace outbox::store::postgres
