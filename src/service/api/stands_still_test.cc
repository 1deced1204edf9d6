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
  return StandsStill(stats, {.relays = relays}, kStart, now, kAfter);
}
RelaySeen WhoseClaimCameBack(const std::string& name, Time at) {
  RelaySeen relay{.name = name, .state = RelayState::kRunning};
  relay.last_claim = at;
  return relay;
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
  for (const RelayState state : {RelayState::kStandby, RelayState::kWaitingForSink,
                                 RelayState::kDraining, RelayState::kStopped}) {
    EXPECT_FALSE(Still(Due(2min), {SeenAs(state)})) << ToString(state);
  }
  EXPECT_FALSE(Still(Due(2min), {}));  // a table that this process only shows
}

TEST(StandsStill, OneIdleRelayOfSeveralIsEnough) {
  EXPECT_TRUE(
      Still(Due(2min), {SeenAs(RelayState::kWaitingForSink), SeenAs(RelayState::kRunning)}));
}

TEST(StandsStill, NotWhenWhatIsDueMayBeForOthersAndClaimsComeBack) {
  const RelaySeen asking = WhoseClaimCameBack("orders", kLater - 1s);
  EXPECT_TRUE(Still(Due(2min), {asking}));  // it asks for everything, and nothing comes
  EXPECT_FALSE(
      StandsStill(Due(2min), {.relays = {asking}, .limited = true}, kStart, kLater, kAfter));
  EXPECT_FALSE(Still(Due(2min), {WhoseClaimCameBack("orders/rabbit", kLater - 1s)}));

  const RelaySeen silent = WhoseClaimCameBack("orders", kLater - 1min);
  EXPECT_TRUE(
      StandsStill(Due(2min), {.relays = {silent}, .limited = true}, kStart, kLater, kAfter));
  EXPECT_TRUE(Still(Due(2min), {WhoseClaimCameBack("orders/rabbit", kLater - 1min)}));
}

TEST(RelayBoard, OnlyARelayIsOne) {
  RelayBoard board;
  // As a splitter, a cleaner and the sampler do.
  board.OnStoreError("orders", "stats", Status::Retry(Code::kUnavailable, "away"), 1s);
  board.OnClaimed("orders", 0, {});
  EXPECT_TRUE(board.Relays().empty());
  board.OnLeaderChanged("orders", true);  // told before the state
  board.OnStateChanged("orders", RelayState::kRunning, "");
  board.OnStoreError("orders", "claim", Status::Retry(Code::kUnavailable, "away"), 1s);
  EXPECT_EQ(board.Relays().at(0).leading, true);
  EXPECT_EQ(board.Relays().at(0).store_errors, 1u);
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
