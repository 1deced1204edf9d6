#include "store/postgres/scan_floor.h"

#include <gtest/gtest.h>

namespace outbox::store::postgres {
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
}  // namespace outbox::store::postgres
