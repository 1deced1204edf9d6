#include "relay/splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "relay/lane_store.h"
#include "store/memory/memory_store.h"
#include "tests/support/matchers.h"
#include "tests/support/wait.h"

namespace outbox::relay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::WaitFor;

// Leases from a table in memory for the first lane that asks; without one, takes what is due and
// calls it split.
class MemorySplitStore final : public store::SplitStore {
 public:
  explicit MemorySplitStore(store::MemoryStore& table)
      : table_(table.OpenRelay({.table = "t", .relay_id = "hook"})) {}

  Result<store::SplitReport> Split(const message::Routes&, const store::SplitRequest& request,
                                   Deadline deadline) override {
    store::SplitReport report;
    if (request.limit > limit_in_time) {
      return Status::InDoubt(Code::kDeadline, "no answer by the deadline");
    }
    store::ClaimRequest claim{.limit = request.limit, .lease = seconds(60)};
    if (!request.lanes.empty()) claim = request.lanes[0].claim;
    if (claim.limit == 0 || (request.lanes.empty() && leases_only)) return report;
    OUTBOX_ASSIGN_OR_RETURN(auto found, table_->Next(claim, deadline));
    report.found = found->size();
    if (report.found == 0) return report;
    if (request.lanes.empty()) {
      std::vector<store::Outcome> outcomes(found->size());
      for (std::uint32_t i = 0; i < outcomes.size(); ++i) {
        outcomes[i] = {.index = i, .kind = store::Outcome::Kind::kDelivered};
      }
      OUTBOX_RETURN_IF_ERROR(found->Settle(outcomes, deadline).error());
      report.messages = report.deliveries = outcomes.size();
    } else {
      report.claims.push_back({request.lanes[0].destination, std::move(found)});
      ++leased;
    }
    return report;
  }
  // As if there were messages without end, each page of which takes a while.
  Result<store::LeftOverReport> CompleteLeftOver(std::int64_t after_seq, std::size_t limit,
                                                 Deadline) override {
    if (!left_over) return store::LeftOverReport{};
    std::this_thread::sleep_for(milliseconds(1));
    EXPECT_EQ(after_seq, static_cast<std::int64_t>(limit) * pages) << "goes on where it ended";
    ++pages;
    return store::LeftOverReport{.looked_at = limit,
                                 .last_seq = after_seq + static_cast<std::int64_t>(limit)};
  }
  Result<std::vector<std::string>> WaitingDestinations(Deadline) override {
    return std::vector<std::string>();
  }
  Result<std::unique_ptr<store::Watch>> WatchForWork(std::function<void()> on_work,
                                                     Deadline deadline) override {
    return table_->WatchForWork(std::move(on_work), deadline);
  }
  bool watch_is_free() const noexcept override { return true; }

  bool left_over = false;
  std::size_t limit_in_time = 1'000'000;
  std::atomic<int> pages = 0;
  std::atomic<bool> leases_only = false;
  std::atomic<int> leased = 0;

 private:
  const std::unique_ptr<store::RelayStore> table_;
};

// A round is always full of messages for "slow", which takes none; those for "fast" lie behind
// them.
class CrowdedSplitStore final : public store::SplitStore {
 public:
  Result<store::SplitReport> Split(const message::Routes&, const store::SplitRequest& request,
                                   Deadline) override {
    const bool spills = std::ranges::any_of(
        request.lanes, [](const store::LaneRequest& lane) { return lane.spills; });
    if (spills) {
      ++spilled;
      return store::SplitReport{
          .found = request.limit, .messages = request.limit, .deliveries = request.limit};
    }
    return store::SplitReport{.found = request.limit, .left_alone = request.limit};
  }
  Result<store::LeftOverReport> CompleteLeftOver(std::int64_t, std::size_t, Deadline) override {
    return store::LeftOverReport{};
  }
  Result<std::vector<std::string>> WaitingDestinations(Deadline) override {
    return std::vector<std::string>();
  }
  Result<std::unique_ptr<store::Watch>> WatchForWork(std::function<void()>, Deadline) override {
    return std::unique_ptr<store::Watch>();
  }
  bool watch_is_free() const noexcept override { return false; }

  std::atomic<int> spilled = 0;
};

class SplitCounts final : public RelayObserver {
 public:
  void OnSplit(std::string_view, std::size_t count, std::size_t, std::size_t, Duration) override {
    messages += count;
  }
  std::atomic<std::size_t> messages = 0;
};

class SplitterTest : public ::testing::Test {
 protected:
  std::unique_ptr<Splitter> Start(bool left_over = false, std::size_t limit_in_time = 1'000'000) {
    auto store = std::make_unique<MemorySplitStore>(table_);
    store->left_over = left_over;
    store->limit_in_time = limit_in_time;
    store_ = store.get();
    return Splitter::Start(
        std::move(store),
        message::Routes(std::vector<message::Route>{{.topics = "#", .destinations = {"hook"}}}),
        {.table = "t"}, nullptr, observer_, board_);
  }
  void Put() { table_.Put({.topic = "a.b.c.v1", .payload = "{}"}); }
  void Ask() {
    board_->Ask("hook", {.limit = 10, .lease = seconds(60)}, std::chrono::steady_clock::now());
  }
  MessageStatus Status() const { return table_.Rows()[0].status; }

  store::MemoryStore table_;
  MemorySplitStore* store_ = nullptr;
  std::shared_ptr<SplitCounts> observer_ = std::make_shared<SplitCounts>();
  std::shared_ptr<LaneBoard> board_ = std::make_shared<LaneBoard>(std::vector<std::string>{"hook"},
                                                                  std::chrono::steady_clock::now());
};

TEST_F(SplitterTest, LeavesWhatALaneAsksForAndCountsItNotAsSplit) {
  const auto splitter = Start();
  Ask();
  Put();
  std::unique_ptr<store::Claim> claim;
  ASSERT_TRUE(WaitFor([&] {
    claim = board_->Take("hook", std::chrono::steady_clock::now());
    return claim != nullptr;
  }));
  EXPECT_EQ(claim->size(), 1u);
  splitter->Stop();
  EXPECT_EQ(observer_->messages, 0u);
  EXPECT_EQ(Status(), MessageStatus::kProcessing) << "what was taken is not the splitter's";
}

TEST_F(SplitterTest, WhatNobodyTakesIsGivenBackAndSplit) {
  const auto splitter = Start();
  Ask();
  Put();
  ASSERT_TRUE(WaitFor([&] { return Status() == MessageStatus::kDelivered; }));
  EXPECT_EQ(store_->leased, 1);
  EXPECT_TRUE(WaitFor([&] { return observer_->messages == 1u; }));
  EXPECT_EQ(table_.Rows()[0].message.attempt, 1) << "the first was given back";
}

TEST_F(SplitterTest, StoppedItGivesBackWhatIsLeft) {
  const auto splitter = Start();
  store_->leases_only = true;  // what was taken back before the stop stays as it is
  Ask();
  Put();
  ASSERT_TRUE(WaitFor([&] { return store_->leased == 1; }));
  splitter->Stop();
  EXPECT_EQ(Status(), MessageStatus::kPending);
  EXPECT_EQ(table_.Rows()[0].message.attempt, 0);
}

TEST_F(SplitterTest, SplitsWhileItLooksForWhatWasLeftBehind) {
  const auto splitter = Start(true);
  Put();
  EXPECT_TRUE(WaitFor([&] { return observer_->messages == 1u; }));
  EXPECT_TRUE(WaitFor([&] { return store_->pages > 3; }));
  splitter->Stop();
}

TEST_F(SplitterTest, ALaneThatNeverAsksIsPassedOver) {
  Put();
  const auto splitter = Start();
  EXPECT_TRUE(WaitFor([&] { return observer_->messages == 1u; }));
}

TEST_F(SplitterTest, ARoundThatDoesNotEndInTimeIsMadeSmaller) {
  Put();
  const auto splitter = Start(false, 100);
  EXPECT_TRUE(WaitFor([&] { return observer_->messages == 1u; }));
}

// It asks all the time, so that nobody calls it away; only its messages are in the way.
TEST_F(SplitterTest, ABusyLaneDoesNotKeepAnotherFromItsMessages) {
  board_ = std::make_shared<LaneBoard>(std::vector<std::string>{"slow", "fast"},
                                       std::chrono::steady_clock::now());
  auto store = std::make_unique<CrowdedSplitStore>();
  CrowdedSplitStore& crowded = *store;
  const auto splitter =
      Splitter::Start(std::move(store), message::Routes(std::vector<message::Route>{}),
                      {.table = "t"}, nullptr, observer_, board_);
  EXPECT_TRUE(WaitFor([&] {
    const auto now = std::chrono::steady_clock::now();
    board_->Ask("slow", {.limit = 0, .lease = seconds(60)}, now);
    board_->Ask("fast", {.limit = 10, .lease = seconds(60)}, now);
    return crowded.spilled > 0;
  }));
  splitter->Stop();
}

}  // namespace
}  // namespace outbox::relay
