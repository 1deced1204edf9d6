// When a table stands still, and when there is an explanation.
#include <gtest/gtest.h>

#include "service/api/health.h"

namespace outbox::service {
namespace {

using namespace std::chrono_literals;
using Time = std::chrono::steady_clock::time_point;

constexpr auto kAfter = 60s;
const Time kStart{1000s};
const Time kLater = kStart + 10min;

store::TableStats Due(std::chrono::milliseconds oldest) {
  return {.pending = 1, .due = 1, .oldest_age = oldest};
}
RelaySeen SeenAs(RelayState state, Time since = {}, Time settled = {}) {
  RelaySeen relay{.name = "orders", .state = state};
  relay.state_since = since;
  relay.last_settle = settled;
  return relay;
}
bool Still(const store::TableStats& stats, const std::vector<RelaySeen>& relays,
           Time now = kLater) {
  return StandsStill(stats, relays, kStart, now, kAfter);
}

TEST(StandsStill, WhenWorkIsDueAndNothingSettles) {
  EXPECT_TRUE(Still(Due(2min), {SeenAs(RelayState::kRunning)}));
  EXPECT_TRUE(Still(Due(1min), {SeenAs(RelayState::kRunning)}));
  EXPECT_TRUE(Still(Due(2min), {SeenAs(RelayState::kStarting)}));
  EXPECT_TRUE(Still(Due(2min), {SeenAs(RelayState::kRunning, kStart, kLater - 1min)}));
}

TEST(StandsStill, NotWithoutWorkThatHasBeenDueForLong) {
  EXPECT_FALSE(Still({}, {SeenAs(RelayState::kRunning)}));
  EXPECT_FALSE(Still({.pending = 5}, {SeenAs(RelayState::kRunning)}));
  EXPECT_FALSE(Still(Due(59s), {SeenAs(RelayState::kRunning)}));
}

TEST(StandsStill, NotWhileSomethingSettles) {
  EXPECT_FALSE(Still(Due(2min), {SeenAs(RelayState::kRunning, kStart, kLater - 59s)}));
}

TEST(StandsStill, NotWhenTheProcessOrTheStateIsYoung) {
  EXPECT_FALSE(Still(Due(2min), {SeenAs(RelayState::kRunning)}, kStart + 59s));
  // After an outage of the sink, or as a new leader, a relay gets its time.
  EXPECT_FALSE(Still(Due(2min), {SeenAs(RelayState::kRunning, kLater - 59s, kStart)}));
  EXPECT_TRUE(Still(Due(2min), {SeenAs(RelayState::kRunning, kLater - 60s, kStart)}));
}

TEST(StandsStill, NotWhenARelayHasAReason) {
  for (const RelayState state :
       {RelayState::kStandby, RelayState::kPaused, RelayState::kDraining, RelayState::kStopped}) {
    EXPECT_FALSE(Still(Due(2min), {SeenAs(state)})) << ToString(state);
  }
  EXPECT_FALSE(Still(Due(2min), {}));  // a table that this process only shows
}

TEST(StandsStill, OneIdleRelayOfSeveralIsEnough) {
  EXPECT_TRUE(Still(Due(2min), {SeenAs(RelayState::kPaused), SeenAs(RelayState::kRunning)}));
}

TEST(RelayBoard, RemembersSinceWhenAndWhatWasSettled) {
  RelayBoard board;
  board.OnStateChanged("orders/rabbit", RelayState::kRunning, "");
  const RelaySeen first = board.Relays().at(0);
  EXPECT_EQ(first.table(), "orders");
  EXPECT_NE(first.state_since, Time{});
  board.OnSettled("orders/rabbit", {}, {});
  EXPECT_EQ(board.Relays().at(0).last_settle, Time{});  // that was nothing
  board.OnSettled("orders/rabbit", {.delivered = 2, .dead = 1}, {});
  EXPECT_NE(board.Relays().at(0).last_settle, Time{});
  EXPECT_EQ(board.Relays().at(0).delivered, 2u);
  EXPECT_EQ(board.Relays().at(0).state_since, first.state_since);
}

}  // namespace
}  // namespace outbox::service
