// ScanFloor: where the next claim's index scan starts.
//
// Rows that were claimed stay in the claim index, or leave dead entries there, until vacuum comes.
// Starting after the last row claimed saves walking over them. Rows can also turn up behind the
// floor: committed late, released, or with an expired lease. So the scan goes back to the very
// beginning once a second and after any failure.
//
// A scan may also meet rows that can not be claimed yet, and step over them. Doing so takes no more
// than a small part of the time: the more there are of them, the longer it waits to do it again.
//
// Threads: one at a time.
#pragma once

#include <chrono>
#include <cstdint>

#include "outbox/message.h"

namespace outbox::store {

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

  // Stepping over rows takes one part of so many.
  static constexpr int kStepOverPart = 5;

  // The position after which the scan that begins now starts.
  ScanPosition Start(Clock::time_point now);

  // What that scan found: the last row claimed, and whether it filled the batch.
  void Advance(ScanPosition last, bool full);
  // That scan ended at `last`, before the end, and found less than it asked for. It took so long.
  // Only what comes between the beginning and the end counts: where scans of the last rows follow
  // each other, the way back would never come.
  void StepOver(ScanPosition last, Clock::duration took);
  // That scan reached the end and found nothing.
  void ReachEnd() noexcept { since_start_ = false; }
  void Reset() noexcept { position_ = {}; }

 private:
  ScanPosition position_;
  Clock::time_point from_start_at_{};
  Clock::duration from_start_after_ = kFromStartEvery;
  bool since_start_ = true;  // no scan has reached the end since
};

}  // namespace outbox::store
