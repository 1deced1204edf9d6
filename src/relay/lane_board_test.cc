#include "relay/lane_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace outbox::relay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using TimePoint = LaneBoard::TimePoint;

constexpr milliseconds kBriefly{100};

// So many messages, of no content.
class BlankClaim final : public store::Claim {
 public:
  explicit BlankClaim(std::size_t size) : messages_(size) {}
  std::span<const Message> messages() const override { return messages_; }
  Result<store::SettleReport> Settle(std::span<const store::Outcome>, Deadline) override {
    return store::SettleReport{};
  }
  Result<std::vector<std::uint32_t>> Extend(milliseconds, Deadline) override {
    return std::vector<std::uint32_t>{};
  }

 private:
  std::vector<Message> messages_;
};

std::unique_ptr<store::Claim> ClaimOf(std::size_t size) {
  return std::make_unique<BlankClaim>(size);
}

class LaneBoardTest : public ::testing::Test {
 protected:
  std::vector<store::LaneRequest> Round(milliseconds patience = kBriefly) {
    auto requests = board_.BeginRound(now_, patience);
    board_.EndRound(false);
    return requests;
  }
  void Ask(const std::string& lane, std::size_t limit) {
    board_.Ask(lane, {.limit = limit, .lease = seconds(60)}, now_);
  }
  void Leave(const std::string& lane, std::size_t size) {
    board_.Leave(lane, ClaimOf(size), now_, now_);
  }
  // "hook 5, rabbit 0"
  std::string Asked(milliseconds patience = kBriefly) {
    std::string text;
    for (const store::LaneRequest& request : Round(patience)) {
      if (!text.empty()) text += ", ";
      text += request.destination + " " + std::to_string(request.claim.limit);
    }
    return text;
  }

  TimePoint now_{seconds(1'000'000)};
  LaneBoard board_{{"hook", "rabbit"}, now_};
};

TEST_F(LaneBoardTest, ANewLaneIsWaitedForUntilItAsksForTheFirstTime) {
  EXPECT_EQ(Asked(), "hook 0, rabbit 0");
  now_ += LaneBoard::kFirstAskWithin / 2;
  Ask("hook", 5);
  EXPECT_EQ(Asked(), "hook 5, rabbit 0");
  now_ += LaneBoard::kFirstAskWithin;
  EXPECT_EQ(Asked(), "hook 5") << "a request stands; who never asked is passed over";
}

TEST_F(LaneBoardTest, ALeaseLastsLongerByTheTimeItMayLieOnTheBoard) {
  Ask("hook", 5);
  EXPECT_EQ(Round()[0].claim.lease, seconds(60) + LaneBoard::kTakenWithin);
}

TEST_F(LaneBoardTest, WhatWasLeftIsTakenOnceAndByItsLane) {
  Ask("hook", 5);
  Leave("hook", 3);
  EXPECT_EQ(board_.Take("rabbit", now_), nullptr);
  const auto claim = board_.Take("hook", now_);
  ASSERT_NE(claim, nullptr);
  EXPECT_EQ(claim->size(), 3u);
  EXPECT_EQ(board_.Take("hook", now_), nullptr);
}

TEST_F(LaneBoardTest, ALaneThatWasServedIsWaitedForALittle) {
  now_ += LaneBoard::kFirstAskWithin;
  Ask("hook", 5);
  now_ += seconds(10);
  Leave("hook", 3);
  EXPECT_EQ(Asked(), "hook 0") << "however long ago it asked";
  ASSERT_NE(board_.Take("hook", now_), nullptr);
  now_ += kBriefly / 2;
  EXPECT_EQ(Asked(), "hook 0");
  now_ += kBriefly;
  EXPECT_EQ(Asked(), "") << "it is behind";
  EXPECT_EQ(Asked(seconds(1)), "hook 0") << "while it is in nobody's way";
  Ask("hook", 5);
  EXPECT_EQ(Asked(), "hook 5");
  board_.Withdraw("hook");
  now_ += kBriefly;
  EXPECT_EQ(Asked(), "");
}

TEST_F(LaneBoardTest, WhatNobodyTakesIsTakenBackAndItsLanePassedOver) {
  now_ += LaneBoard::kFirstAskWithin;
  Ask("hook", 5);
  Ask("rabbit", 5);
  Leave("hook", 3);
  EXPECT_EQ(board_.next_take_back(), now_ + LaneBoard::kTakenWithin);
  now_ += LaneBoard::kTakenWithin - milliseconds(1);
  EXPECT_THAT(board_.TakeBack(now_), IsEmpty());
  now_ += milliseconds(1);
  EXPECT_EQ(board_.Take("hook", now_), nullptr) << "its lease could not be counted from now";
  EXPECT_THAT(board_.TakeBack(now_), SizeIs(1));
  EXPECT_THAT(board_.TakeBack(now_), IsEmpty());
  EXPECT_EQ(board_.next_take_back(), TimePoint::max());
  EXPECT_EQ(Asked(seconds(5)), "rabbit 5");
  Ask("hook", 1);
  EXPECT_EQ(Asked(), "hook 1, rabbit 5");
}

TEST_F(LaneBoardTest, WakesTheSplitterWhenALaneAsksAnewAndTheRelayWhenSomethingWasLeft) {
  int asked = 0, left = 0;
  board_.OnAsked([&] { ++asked; });
  board_.OnLeft("hook", [&] { ++left; });
  Ask("hook", 5);
  Ask("hook", 4);
  EXPECT_EQ(asked, 1) << "it stood already";
  Leave("rabbit", 1);
  EXPECT_EQ(left, 0);
  Leave("hook", 1);
  EXPECT_EQ(left, 1);
  Ask("hook", 5);
  EXPECT_EQ(asked, 2);
  board_.OnAsked(nullptr);
  Ask("rabbit", 5);
  EXPECT_EQ(asked, 2);
}

TEST_F(LaneBoardTest, AwaitEndsWithTheFirstRoundThatBeganAfterTheAsk) {
  board_.BeginRound(now_, kBriefly);
  Ask("hook", 1);
  board_.EndRound(false);  // too early to have seen it
  std::atomic<bool> answered = false;
  std::thread waiter([&] {
    board_.Await("hook", seconds(60));
    answered = true;
  });
  EXPECT_FALSE(answered);
  Round();
  waiter.join();
  EXPECT_TRUE(answered);
}

TEST_F(LaneBoardTest, AClosedBoardGivesOutNothing) {
  Leave("hook", 3);
  EXPECT_THAT(board_.Close(), SizeIs(1));
  EXPECT_EQ(board_.Take("hook", now_), nullptr);
  int asked = 0;
  board_.OnAsked([&] { ++asked; });
  Ask("hook", 1);
  EXPECT_EQ(asked, 0);
  board_.Await("hook", seconds(60));  // does not
}

// Relays ask and take, a splitter leaves and takes back: every message ends exactly once.
TEST(LaneBoardThreads, EveryMessageLeftIsTakenOrTakenBack) {
  constexpr std::size_t kEnough = 500;
  const std::vector<std::string> names{"a", "b", "c"};
  LaneBoard board(names, std::chrono::steady_clock::now());
  std::atomic<std::size_t> left = 0, taken = 0, back = 0, woken = 0;
  std::atomic<bool> stop = false;
  board.OnAsked([&] { ++woken; });
  for (const std::string& name : names) board.OnLeft(name, [&] { ++woken; });
  std::vector<std::thread> relays;
  for (const std::string& name : names) {
    relays.emplace_back([&, name] {
      std::size_t turn = 0;
      while (!stop) {
        const auto now = std::chrono::steady_clock::now();
        if (const auto claim = board.Take(name, now)) taken += claim->size();
        board.Ask(name, {.limit = 1 + turn % 7}, now);
        if (++turn % 5 == 0) board.Await(name, milliseconds(1));
        if (turn % 11 == 0) board.Withdraw(name);
      }
    });
  }
  const Deadline deadline = Deadline::After(seconds(60));
  for (std::size_t round = 0; (taken < kEnough || back < kEnough) && !deadline.passed(); ++round) {
    const auto now = std::chrono::steady_clock::now();
    for (const auto& claim : board.TakeBack(now)) back += claim->size();
    for (const store::LaneRequest& request : board.BeginRound(now, kBriefly)) {
      if (request.claim.limit == 0) continue;
      left += request.claim.limit;
      // Some have lain there for too long already.
      board.Leave(request.destination, ClaimOf(request.claim.limit),
                  round % 13 == 0 ? now - seconds(2) : now, now);
    }
    board.EndRound(round % 3 == 0);
  }
  board.OnAsked(nullptr);
  for (const auto& claim : board.Close()) back += claim->size();
  stop = true;
  for (std::thread& relay : relays) relay.join();
  EXPECT_GE(taken, kEnough);
  EXPECT_GE(back, kEnough);
  EXPECT_GT(woken, 0u);
  EXPECT_EQ(left, taken + back);
}

}  // namespace
}  // namespace outbox::relay
