#include "relay/cleaner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "tests/support/wait.h"

namespace outbox::relay {
namespace {

using namespace std::chrono_literals;
using ::outbox::testing::WaitFor;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What a database is asked for, and what it has left.
struct Shelf {
  std::atomic<std::size_t> delivered{0};
  std::atomic<std::size_t> dead{0};
  std::atomic<std::size_t> audit{0};
  std::atomic<bool> has_audit{true};
  std::atomic<milliseconds> audit_retention{0ms};
  std::atomic<int> audit_calls{0};
  std::atomic<int> rounds{0};
};

class ShelfStore final : public store::CleanStore {
 public:
  explicit ShelfStore(std::shared_ptr<Shelf> shelf) : shelf_(std::move(shelf)) {}

  Result<std::size_t> PurgeDelivered(milliseconds, std::size_t limit, Deadline) override {
    return Take(shelf_->delivered, limit);
  }
  Result<std::size_t> PurgeDead(milliseconds, std::size_t limit, Deadline) override {
    return Take(shelf_->dead, limit);
  }
  // Asked for once a round.
  Result<std::size_t> PurgeAttempts(std::size_t, Deadline) override {
    ++shelf_->rounds;
    return std::size_t{0};
  }
  Result<std::size_t> PurgeAudit(milliseconds retention, std::size_t limit, Deadline) override {
    shelf_->audit_retention = retention;
    ++shelf_->audit_calls;
    if (!shelf_->has_audit) {
      return Status::Permanent(Code::kSchema, "no audit").WithHint("migrate up");
    }
    return Take(shelf_->audit, limit);
  }

 private:
  static std::size_t Take(std::atomic<std::size_t>& left, std::size_t limit) {
    const std::size_t taken = std::min(left.load(), limit);
    left -= taken;
    return taken;
  }

  const std::shared_ptr<Shelf> shelf_;
};

// Read when the cleaner has stopped.
class CleaningHeard final : public RelayObserver {
 public:
  void OnPurged(std::string_view, const PurgeCounts& counts, Duration) override {
    purged.push_back(counts);
  }
  void OnStoreError(std::string_view, std::string_view, const Status&, Duration) override {
    ++errors;
  }
  void OnNotice(std::string_view, std::string_view text) override { notices.emplace_back(text); }

  std::vector<PurgeCounts> purged;
  int errors = 0;
  std::vector<std::string> notices;
};

class CleanerTest : public ::testing::Test {
 protected:
  // Until a third round has begun.
  void Clean(CleanerOptions options) {
    options.interval = 1ms;
    const auto cleaner =
        Cleaner::Start(std::make_unique<ShelfStore>(shelf_), std::move(options), "t", heard_);
    EXPECT_TRUE(WaitFor([&] { return shelf_->rounds >= 3; }));
    cleaner->Stop();
  }

  const std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
  const std::shared_ptr<CleaningHeard> heard_ = std::make_shared<CleaningHeard>();
};

TEST_F(CleanerTest, PurgesInBatchesAndTellsTheSum) {
  shelf_->delivered = 5;
  shelf_->dead = 3;
  shelf_->audit = 7;
  Clean({.dead_retention = 1h, .batch_size = 2});
  EXPECT_EQ(shelf_->audit_retention.load(), milliseconds(365 * 24h));
  ASSERT_EQ(heard_->purged.size(), 1u) << "nothing is told of rounds that remove nothing";
  EXPECT_EQ(heard_->purged[0].delivered, 5u);
  EXPECT_EQ(heard_->purged[0].dead, 3u);
  EXPECT_EQ(heard_->purged[0].audit, 7u);
  EXPECT_EQ(heard_->errors, 0);
}

TEST_F(CleanerTest, WithoutARetentionDeadMessagesAndTheAuditAreKept) {
  shelf_->dead = 3;
  shelf_->audit = 7;
  Clean({.dead_retention = 0ms, .audit_retention = 0ms});
  EXPECT_EQ(shelf_->dead, 3u);
  EXPECT_EQ(shelf_->audit_calls, 0);
  EXPECT_TRUE(heard_->purged.empty());
}

TEST_F(CleanerTest, WhatIsKeptForEverIsNotLookedAt) {
  shelf_->delivered = 5;
  shelf_->dead = 3;
  shelf_->audit = 7;
  Clean(
      {.retention = kDurationMax, .dead_retention = kDurationMax, .audit_retention = kDurationMax});
  EXPECT_EQ(shelf_->delivered, 5u);
  EXPECT_EQ(shelf_->dead, 3u);
  EXPECT_EQ(shelf_->audit_calls, 0);
  EXPECT_TRUE(heard_->purged.empty());
}

TEST_F(CleanerTest, AnInstallationThatCanNotPurgeItsAuditIsToldOfOnceAndCleanedOtherwise) {
  shelf_->has_audit = false;
  shelf_->delivered = 5;
  Clean({});
  EXPECT_GT(shelf_->audit_calls, 1) << "it may be upgraded meanwhile";
  EXPECT_THAT(heard_->notices, ElementsAre(AllOf(HasSubstr("no audit"), HasSubstr("migrate up"))));
  EXPECT_EQ(heard_->errors, 0);
  ASSERT_EQ(heard_->purged.size(), 1u);
  EXPECT_EQ(heard_->purged[0].delivered, 5u);
}

}  // namespace
}  // namespace outbox::relay
