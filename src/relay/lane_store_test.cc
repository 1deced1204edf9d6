#include "relay/lane_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "store/memory/memory_store.h"
#include "tests/support/matchers.h"

namespace outbox::relay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Two tables in memory: one stands for the messages in their own rows, one for the deliveries.
class LaneStoreTest : public ::testing::Test {
 protected:
  LaneStoreTest() {
    store_ = std::make_unique<LaneStore>(
        deliveries_.OpenRelay({.table = "d", .relay_id = "hook"}), board_,
        LaneStoreOptions{.destination = "hook", .answer_within = milliseconds(0), .clock = [this] {
                           return now_;
                         }});
  }

  static Deadline Soon() { return Deadline::After(seconds(10)); }
  void Put(store::MemoryStore& store, const std::string& payload) {
    store.Put({.topic = "a.b.c.v1", .payload = payload});
  }
  // What the splitter does: serves the lane from the own rows.
  std::size_t Serve() {
    std::size_t left = 0;
    for (const store::LaneRequest& lane : board_->BeginRound(now_, milliseconds(100))) {
      if (lane.claim.limit == 0) continue;
      auto claim = own_relay_->Next(lane.claim, Soon());
      EXPECT_OK(claim);
      if ((*claim)->size() == 0) continue;
      left += (*claim)->size();
      board_->Leave(lane.destination, std::move(*claim), now_, now_);
    }
    board_->EndRound(false);
    return left;
  }
  std::unique_ptr<store::Claim> Next(std::size_t limit = 2, std::optional<int> attempts_max = {}) {
    auto claim =
        store_->Next({.limit = limit, .lease = seconds(60), .attempts_max = attempts_max}, Soon());
    EXPECT_OK(claim);
    return *std::move(claim);
  }
  std::vector<std::string> Payloads(const store::Claim& claim) {
    std::vector<std::string> payloads;
    for (const Message& message : claim.messages()) payloads.push_back(message.payload);
    return payloads;
  }

  LaneBoard::TimePoint now_{seconds(1'000'000)};
  store::MemoryStore own_;
  store::MemoryStore deliveries_;
  std::unique_ptr<store::RelayStore> own_relay_ =
      own_.OpenRelay({.table = "t", .relay_id = "hook"});
  std::shared_ptr<LaneBoard> board_ =
      std::make_shared<LaneBoard>(std::vector<std::string>{"hook"}, now_);
  std::unique_ptr<LaneStore> store_;
};

TEST_F(LaneStoreTest, AsksWhenNothingIsThereAndTakesWhatWasLeft) {
  Put(own_, "0");
  EXPECT_EQ(Serve(), 0u) << "nobody has asked";
  EXPECT_THAT(Payloads(*Next()), IsEmpty());
  EXPECT_EQ(Serve(), 1u);
  const auto claim = Next();
  EXPECT_THAT(Payloads(*claim), ElementsAre("0"));
  const std::vector<store::Outcome> delivered{{.kind = store::Outcome::Kind::kDelivered}};
  EXPECT_OK(claim->Settle(delivered, Soon()));
  EXPECT_EQ(own_.Rows()[0].status, MessageStatus::kDelivered);
}

TEST_F(LaneStoreTest, AShortClaimLeavesARequestForTheRest) {
  Put(own_, "0");
  Next(5);
  Serve();
  Next(5);
  for (int i = 0; i < 9; ++i) Put(own_, "more");
  EXPECT_EQ(Serve(), 4u) << "as much as there is room for";
}

TEST_F(LaneStoreTest, WhileDeliveriesFillWholeClaimsItAsksForNothing) {
  for (const char* payload : {"0", "1", "2"}) Put(deliveries_, payload);
  Put(own_, "own");
  EXPECT_THAT(Payloads(*Next(2)), ElementsAre("0", "1"));
  EXPECT_EQ(Serve(), 0u);
  EXPECT_THAT(Payloads(*Next(2)), ElementsAre("2"));
  EXPECT_EQ(Serve(), 1u);
}

TEST_F(LaneStoreTest, ABusyLaneDoesNotHideTheDeliveries) {
  for (int i = 0; i < 100; ++i) Put(own_, "own");
  Next();
  const auto claims_delivery = [&] {
    return Payloads(*Next()) == std::vector<std::string>{"delivery"};
  };
  int lane_claims = 0;
  for (int turn = 0; turn < 12; ++turn) {
    now_ += milliseconds(10);
    lane_claims += Serve() > 0 ? 1 : 0;
    if (turn == 1) Put(deliveries_, "delivery");
    // Takes what was left; asks again.
    if (claims_delivery() || claims_delivery()) {
      EXPECT_GT(lane_claims, 1);
      return;
    }
  }
  FAIL() << "the delivery was not claimed";
}

TEST_F(LaneStoreTest, AProbeGivesABatchThatWasLeftBackUntried) {
  Put(own_, "0");
  Put(own_, "1");
  Next();
  EXPECT_EQ(Serve(), 2u);
  EXPECT_THAT(Payloads(*Next(1)), IsEmpty());
  for (const auto& row : own_.Rows()) {
    EXPECT_EQ(row.status, MessageStatus::kPending);
    EXPECT_EQ(row.message.attempt, 0);
  }
  EXPECT_EQ(Serve(), 0u) << "what is not answered at once is withdrawn";
}

TEST_F(LaneStoreTest, TheDeadOfABatchThatIsGivenBackAreToldOnce) {
  Put(own_, "dead");
  {
    const auto tried = own_relay_->Next({.limit = 1, .lease = seconds(60)}, Soon());
    const std::vector<store::Outcome> retry{{.kind = store::Outcome::Kind::kRetry, .error = "no"}};
    ASSERT_OK((*tried)->Settle(retry, Soon()));
  }
  Put(own_, "0");
  Put(own_, "1");
  Next(3, 1);
  EXPECT_EQ(Serve(), 2u);
  const auto claim = Next(1, 1);
  EXPECT_THAT(Payloads(*claim), IsEmpty());
  ASSERT_EQ(claim->exhausted().size(), 1u);
  EXPECT_EQ(claim->exhausted()[0].payload, "dead");
  EXPECT_THAT(Next(1, 1)->exhausted(), IsEmpty());
}

TEST_F(LaneStoreTest, AClaimOfOneWaitsForTheSplitter) {
  LaneStore patient(deliveries_.OpenRelay({.table = "d", .relay_id = "hook"}), board_,
                    {.destination = "hook", .answer_within = seconds(30)});
  Put(own_, "0");
  Put(own_, "1");
  std::thread splitter([&] {
    do {
      now_ = std::chrono::steady_clock::now();
    } while (Serve() == 0);
  });
  const auto claim = patient.Next({.limit = 1, .lease = seconds(60), .from_start = true}, Soon());
  splitter.join();
  ASSERT_OK(claim);
  EXPECT_THAT(Payloads(**claim), ElementsAre("0"));
}

TEST_F(LaneStoreTest, GoneItAsksNoMore) {
  Put(own_, "0");
  Next();
  store_.reset();
  EXPECT_EQ(Serve(), 0u);
}

}  // namespace
}  // namespace outbox::relay
