#include "store/scan_floor.h"

namespace outbox::store {

ScanPosition ScanFloor::Start(Clock::time_point now) {
  if (now - from_start_at_ >= from_start_after_) position_ = {};
  if (position_.available_at == Timestamp::min()) {
    from_start_at_ = now;
    from_start_after_ = kFromStartEvery;
    since_start_ = true;
  }
  return position_;
}

void ScanFloor::Advance(ScanPosition last, bool full) {
  position_ = full ? last : ScanPosition{last.available_at - kLateCommits, 0};
  since_start_ = since_start_ && full;
}

void ScanFloor::StepOver(ScanPosition last, Clock::duration took) {
  position_ = last;
  if (since_start_) from_start_after_ += kStepOverPart * took;
}

}  // namespace outbox::store
