#include "store/scan_floor.h"

#include <gtest/gtest.h>

namespace outbox::store {
namespace {

using std::chrono::milliseconds;

const ScanFloor::Clock::time_point kNow{std::chrono::hours(1)};
const Timestamp kDue{std::chrono::hours(500'000)};

TEST(ScanFloor, BeginsAtTheBeginning) {
  ScanFloor floor;
  EXPECT_EQ(floor.Start(kNow).available_at, Timestamp::min());
}

TEST(ScanFloor, GoesOnExactlyAfterAFullBatch) {
  ScanFloor floor;
  floor.Start(kNow);
  floor.Advance({kDue, 7}, true);
  const ScanPosition next = floor.Start(kNow + milliseconds(999));
  EXPECT_EQ(next.available_at, kDue);
  EXPECT_EQ(next.seq, 7);
}

TEST(ScanFloor, GoesBackTwoSecondsAfterAShortBatch) {
  ScanFloor floor;
  floor.Start(kNow);
  floor.Advance({kDue, 7}, false);
  EXPECT_EQ(floor.Start(kNow + milliseconds(1)).available_at, kDue - std::chrono::seconds(2));
}

TEST(ScanFloor, StepsOverRowsForASmallPartOfTheTime) {
  ScanFloor floor;
  floor.Start(kNow);
  floor.StepOver({kDue, 7}, milliseconds(300));
  floor.StepOver({kDue, 8}, milliseconds(100));
  EXPECT_EQ(floor.Start(kNow + milliseconds(2999)).seq, 8);
  EXPECT_EQ(floor.Start(kNow + milliseconds(3000)).available_at, Timestamp::min());
  floor.Advance({kDue, 7}, true);
  EXPECT_EQ(floor.Start(kNow + milliseconds(4000)).available_at, Timestamp::min());
}

// A key that is held up while more of its messages come: each scan that reaches the end goes back
// over the last of them.
TEST(ScanFloor, SteppingOverTheLastRowsDoesNotKeepItFromTheBeginning) {
  ScanFloor floor;
  auto now = kNow;
  auto from_start = now;
  const auto scan = [&] {
    if (floor.Start(now).available_at == Timestamp::min()) from_start = now;
    now += milliseconds(6);
    EXPECT_LT(now - from_start, std::chrono::seconds(2));
  };
  for (int i = 0; i < 1000; ++i) {
    for (int page = 0; page < 2; ++page) {
      scan();
      floor.StepOver({kDue, 7}, milliseconds(6));
    }
    scan();
    floor.Advance({kDue, 9}, false);
  }
}

TEST(ScanFloor, ReturnsToTheBeginningEverySecond) {
  ScanFloor floor;
  for (int second = 0; second < 3; ++second) {
    const auto now = kNow + std::chrono::seconds(second);
    EXPECT_EQ(floor.Start(now).available_at, Timestamp::min());
    floor.Advance({kDue, 7}, true);
    EXPECT_EQ(floor.Start(now + milliseconds(900)).available_at, kDue);
    floor.Advance({kDue, 8}, true);
  }
}

TEST(ScanFloor, ReturnsToTheBeginningAfterAFailure) {
  ScanFloor floor;
  floor.Start(kNow);
  floor.Advance({kDue, 7}, true);
  floor.Reset();
  EXPECT_EQ(floor.Start(kNow + milliseconds(1)).available_at, Timestamp::min());
}

}  // namespace
}  // namespace outbox::store
