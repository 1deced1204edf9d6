#include "relay/splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

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
    store::ClaimRequest claim{.limit = request.limit, .lease = seconds(60)};
    if (!request.lanes.empty()) claim = request.lanes[0].claim;
    if (claim.limit == 0) return report;
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
    }
    return report;
  }
  Result<std::size_t> CompleteLeftOver(std::size_t, Deadline) override { return std::size_t{0}; }
  Result<std::vector<std::string>> WaitingDestinations(Deadline) override {
    return std::vector<std::string>();
  }
  Result<std::unique_ptr<store::Watch>> WatchForWork(std::function<void()> on_work,
                                                     Deadline deadline) override {
    return table_->WatchForWork(std::move(on_work), deadline);
  }
  bool watch_is_free() const noexcept override { return true; }

 private:
  const std::unique_ptr<store::RelayStore> table_;
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
  std::unique_ptr<Splitter> Start() {
    return Splitter::Start(
        std::make_unique<MemorySplitStore>(table_),
        message::Routes(std::vector<message::Route>{{.topics = "#", .destinations = {"hook"}}}),
        {.table = "t"}, nullptr, observer_, board_);
  }
  void Put() { table_.Put({.topic = "a.b.c.v1", .payload = "{}"}); }
  void Ask() {
    board_->Ask("hook", {.limit = 10, .lease = seconds(60)}, std::chrono::steady_clock::now());
  }
  MessageStatus Status() const { return table_.Rows()[0].status; }

  store::MemoryStore table_;
  std::shared_ptr<SplitCounts> observer_ = std::make_shared<SplitCounts>();
  std::shared_ptr<LaneBoard> board_ = std::make_shared<LaneBoard>(std::vector<std::string>{"hook"},
                                                                  std::chrono::steady_clock::now());
};

TEST_F(SplitterTest, LeavesWhatALaneAsksForAndCountsItNotAsSplit) {
  const auto splitter = Start();
  Put();
  Ask();
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
  Put();
  Ask();
  ASSERT_TRUE(WaitFor([&] { return Status() == MessageStatus::kProcessing; }));
  ASSERT_TRUE(WaitFor([&] { return Status() == MessageStatus::kDelivered; }));
  EXPECT_TRUE(WaitFor([&] { return observer_->messages == 1u; }));
  EXPECT_EQ(table_.Rows()[0].message.attempt, 1) << "the first was given back";
}

TEST_F(SplitterTest, StoppedItGivesBackWhatIsLeft) {
  const auto splitter = Start();
  Put();
  Ask();
  ASSERT_TRUE(WaitFor([&] { return Status() == MessageStatus::kProcessing; }));
  splitter->Stop();
  EXPECT_EQ(Status(), MessageStatus::kPending);
  EXPECT_EQ(table_.Rows()[0].message.attempt, 0);
}

TEST_F(SplitterTest, ALaneThatNeverAsksIsPassedOver) {
  Put();
  const auto splitter = Start();
  EXPECT_TRUE(WaitFor([&] { return observer_->messages == 1u; }));
}

}  // namespace
}  // namespace outbox::relay
