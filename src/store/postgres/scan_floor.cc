#include "store/postgres/scan_floor.h"

namespace outbox::store::postgres {

ScanPosition ScanFloor::Start(Clock::time_point now) {
  if (now - from_start_at_ >= kFromStartEvery) {
    position_ = {};
  }
  if (position_.available_at == Timestamp::min()) from_start_at_ = now;
  return position_;
}

void ScanFloor::Advance(ScanPosition last, bool full) {
  position_ = full ? last : ScanPosition{last.available_at - kLateCommits, 0};
}

}  // namespace outbox::store::postgres
