#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/memory/memory_store.h"
#include "tests/support/matchers.h"

namespace outbox::store {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class MemoryStoreTest : public ::testing::Test {
 protected:
  static Deadline Soon() { return Deadline::After(10s); }

  std::unique_ptr<Claim> Next() {
    return std::move(relay_->Next({.limit = 10, .lease = 1min}, Soon())).value();
  }

  const NewMessage message_{.topic = "orders.order.created.v1", .payload = "{}"};
  const std::vector<Outcome> delivered_ = {{.index = 0, .kind = Outcome::Kind::kDelivered}};
  Timestamp now_{std::chrono::hours(1)};
  MemoryStore store_{[this] { return now_; }};
  std::unique_ptr<RelayStore> relay_ = store_.OpenRelay({.relay_id = "relay"});
};

TEST_F(MemoryStoreTest, LeasesExpireByTheInjectedClock) {
  store_.Put(message_);
  EXPECT_THAT(Next()->messages(), SizeIs(1));
  now_ += 59s;
  EXPECT_THAT(Next()->messages(), IsEmpty());
  now_ += 1s;
  EXPECT_THAT(Next()->messages(), SizeIs(1));
}

TEST_F(MemoryStoreTest, AnInjectedFailureHappensOnceAndChangesNothing) {
  store_.Put(message_);
  store_.FailNext(MemoryStore::Call::kNext, Status::Retry(Code::kUnavailable, "down"));
  EXPECT_THAT(relay_->Next({.limit = 1, .lease = 1min}, Soon()), HasCode(Code::kUnavailable));
  const auto claim = Next();
  ASSERT_THAT(claim->messages(), SizeIs(1));
  store_.FailNext(MemoryStore::Call::kSettle, Status::Retry(Code::kUnavailable, "down"));
  EXPECT_THAT(claim->Settle(delivered_, Soon()), HasCode(Code::kUnavailable));
  EXPECT_EQ(store_.Rows()[0].status, MessageStatus::kProcessing);
  EXPECT_OK(claim->Settle(delivered_, Soon()));
}

TEST_F(MemoryStoreTest, ALostAnswerLeavesTheOutcomeRecorded) {
  store_.Put(message_);
  const auto claim = Next();
  store_.LoseNextSettleAnswer(Status::InDoubt(Code::kUnavailable, "connection lost"));
  EXPECT_THAT(claim->Settle(delivered_, Soon()), HasCode(Code::kUnavailable));
  EXPECT_EQ(store_.Rows()[0].status, MessageStatus::kDelivered);
  const auto again = claim->Settle(delivered_, Soon());
  ASSERT_OK(again);
  EXPECT_THAT(again->lost, ElementsAre(0));
}

}  // namespace
}  // namespace outbox::store
