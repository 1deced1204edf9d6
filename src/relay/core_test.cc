#include "relay/core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/matchers.h"

namespace outbox::relay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = store::Outcome::Kind;

// A claim that remembers nothing: the tests look at the steps the core asks for.
class FakeClaim final : public store::Claim {
 public:
  explicit FakeClaim(std::size_t count, int attempt = 1) : messages_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      messages_[i].seq = static_cast<std::int64_t>(i);
      messages_[i].attempt = attempt;
      messages_[i].payload = "{}";
    }
  }
  // Its first `count` messages were in hand when a relay died.
  std::unique_ptr<FakeClaim> InDoubt(std::size_t count) && {
    for (std::size_t i = 0; i < count; ++i) messages_[i].in_doubt = true;
    return std::make_unique<FakeClaim>(std::move(*this));
  }
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

class CoreTest : public ::testing::Test {
 protected:
  CoreTest() {
    options_.table = "t";
    options_.batch_size = 10;
    options_.window = 20;
    options_.lease = seconds(60);
    options_.retry = {
        .base = seconds(1), .cap = seconds(60), .jitter = Jitter::kNone, .attempts_max = 3};
    options_.dispatch_timeout = seconds(30);
  }

  Core& core() {
    if (!core_) core_.emplace(options_, store_traits_, sink_traits_, random_);
    return *core_;
  }

  void Claim(std::size_t count, int attempt = 1) {
    ASSERT_TRUE(std::holds_alternative<ClaimStep>(core().NextClaimerStep(now_)));
    core().OnClaimed(now_, now_, std::make_unique<FakeClaim>(count, attempt));
  }

  // Publishes the next slice with the same result for each message.
  void Publish(const Status& result) {
    const auto slice = core().NextSlice(now_);
    ASSERT_TRUE(slice);
    ASSERT_TRUE(core().OnPublished(now_, *slice, std::vector<Status>(slice->count, result)));
  }

  std::optional<SettleStep> NextSettle() {
    const SettlerStep step = core().NextSettlerStep(now_);
    const auto* settle = std::get_if<SettleStep>(&step);
    return settle == nullptr ? std::nullopt : std::optional<SettleStep>(*settle);
  }

  RelayOptions options_;
  store::RelayStoreTraits store_traits_;
  SinkTraits sink_traits_{.batch_max = 100, .concurrency = 2};
  base::SeededRandom random_{1};
  TimePoint now_{seconds(1000)};
  std::optional<Core> core_;
};

TEST_F(CoreTest, DeliversAndSettlesAClaimInOneStep) {
  Claim(10);
  Publish(Status::Ok());
  const auto settle = NextSettle();
  ASSERT_TRUE(settle);
  EXPECT_EQ(settle->outcomes.size(), 10U);
  EXPECT_EQ(settle->outcomes[0].kind, Kind::kDelivered);
  const Settled settled = core().OnSettled(*settle, {});
  EXPECT_EQ(settled.counts.delivered, 10U);
  EXPECT_EQ(core().held_messages(), 0U);
}

TEST_F(CoreTest, NeverHoldsMoreThanTheWindow) {
  Claim(10);
  Claim(10);
  EXPECT_TRUE(std::holds_alternative<WaitStep>(core().NextClaimerStep(now_)));
  Publish(Status::Ok());
  const auto settle = NextSettle();
  ASSERT_TRUE(settle);
  core().OnSettled(*settle, {});
  EXPECT_TRUE(std::holds_alternative<ClaimStep>(core().NextClaimerStep(now_)));
}

TEST_F(CoreTest, ClaimsAgainAtOnceAfterAFullBatchAndWaitsAfterAShortOne) {
  Claim(10);
  EXPECT_TRUE(std::holds_alternative<ClaimStep>(core().NextClaimerStep(now_)));
  core().OnClaimed(now_, now_, std::make_unique<FakeClaim>(3));
  core_->OnPublished(now_, *core().NextSlice(now_), std::vector<Status>(10));
  core().OnSettled(*NextSettle(), {});
  EXPECT_TRUE(std::holds_alternative<WaitStep>(core().NextClaimerStep(now_)));
}

TEST_F(CoreTest, GivesMessagesOfSeveralCrashesBackAndClaimsThemOneByOne) {
  options_.retry.attempts_max = 20;
  (void)core().NextClaimerStep(now_);
  core().OnClaimed(now_, now_, FakeClaim(10, 3).InDoubt(4));
  EXPECT_TRUE(std::holds_alternative<WaitStep>(core().NextClaimerStep(now_)))
      << "claimed more while the others are in hand";
  const auto slice = core().NextSlice(now_);
  ASSERT_TRUE(slice);
  EXPECT_EQ(slice->first, 4U);
  EXPECT_EQ(slice->count, 6U);
  ASSERT_TRUE(core().OnPublished(now_, *slice, std::vector<Status>(6)));
  const Settled settled = core().OnSettled(*NextSettle(), {});
  EXPECT_EQ(settled.counts.released, 4U);
  EXPECT_EQ(settled.counts.delivered, 6U);

  const auto single = std::get<ClaimStep>(core().NextClaimerStep(now_));
  EXPECT_EQ(single.request.limit, 1U);
  EXPECT_TRUE(single.request.from_start);
  core().OnClaimed(now_, now_, FakeClaim(1, 3).InDoubt(1));
  EXPECT_TRUE(std::holds_alternative<WaitStep>(core().NextClaimerStep(now_)))
      << "a bystander was claimed beside it";
  Publish(Status::Ok());
  core().OnSettled(*NextSettle(), {});
  EXPECT_EQ(std::get<ClaimStep>(core().NextClaimerStep(now_)).request.limit, 10U)
      << "the others have their turn in between";
}

TEST_F(CoreTest, ForgivesOneCrashUnlessItWasTheLastButOneAttempt) {
  options_.retry.attempts_max = 20;
  (void)core().NextClaimerStep(now_);
  core().OnClaimed(now_, now_, FakeClaim(10, 2).InDoubt(10));
  EXPECT_EQ(core().NextSlice(now_)->count, 10U);

  core_.reset();
  options_.retry.attempts_max = 2;
  (void)core().NextClaimerStep(now_);
  core().OnClaimed(now_, now_, FakeClaim(10, 2).InDoubt(10));
  EXPECT_FALSE(core().NextSlice(now_));
}

TEST_F(CoreTest, IdlePollingGrowsFromItsMinimumToItsMaximum) {
  options_.poll_min = milliseconds(10);
  options_.poll_max = milliseconds(100);
  std::vector<double> waits;
  for (int i = 0; i < 12; ++i) {
    Claim(0);
    const auto wait = std::get<WaitStep>(core().NextClaimerStep(now_)).until - now_;
    waits.push_back(std::chrono::duration<double, std::milli>(wait).count());
    now_ += wait;
  }
  EXPECT_LE(waits.front(), 11.0);
  EXPECT_GE(waits.back(), 90.0);
  EXPECT_LE(waits.back(), 110.0);
}

TEST_F(CoreTest, FixedPollingWaitsExactly) {
  options_.poll_min = options_.poll_max = seconds(1);
  Claim(0);
  EXPECT_EQ(std::get<WaitStep>(core().NextClaimerStep(now_)).until, now_ + seconds(1));
}

TEST_F(CoreTest, WorkSignalEndsTheWait) {
  Claim(0);
  core().OnWork(now_);
  EXPECT_TRUE(std::holds_alternative<ClaimStep>(core().NextClaimerStep(now_)));
}

TEST_F(CoreTest, WaitsAtLeastAsLongAsTheDestinationAsksButNotForEver) {
  const auto retry_in = [&](milliseconds asked) {
    Claim(1);
    Publish(Status::Retry(Code::kRejected, "busy").WithRetryAfter(asked));
    const auto settle = NextSettle();
    core().OnSettled(*settle, {});
    now_ += seconds(1);
    return settle->outcomes[0].retry_in;
  };
  EXPECT_EQ(retry_in(milliseconds(5)), seconds(1)) << "the policy's own delay is longer";
  EXPECT_EQ(retry_in(std::chrono::hours(2)), std::chrono::hours(2));
  EXPECT_EQ(retry_in(std::chrono::hours(240)), std::chrono::hours(24));
}

TEST_F(CoreTest, FailureIsRetriedByPolicyAndDeadAtExactlyTheLastAttempt) {
  Claim(1, 2);
  Publish(Status::Retry(Code::kRejected, "no"));
  auto settle = NextSettle();
  ASSERT_TRUE(settle);
  EXPECT_EQ(settle->outcomes[0].kind, Kind::kRetry);
  EXPECT_EQ(settle->outcomes[0].retry_in, seconds(2));
  EXPECT_EQ(settle->outcomes[0].error, "no");
  core().OnSettled(*settle, {});

  now_ += seconds(1);
  Claim(1, 3);
  Publish(Status::Retry(Code::kRejected, "no"));
  settle = NextSettle();
  ASSERT_TRUE(settle);
  EXPECT_EQ(settle->outcomes[0].kind, Kind::kDead);
  EXPECT_EQ(core().OnSettled(*settle, {}).dead.size(), 1U);
}

TEST_F(CoreTest, PermanentFailureIsDeadAtOnce) {
  Claim(1, 1);
  Publish(Status::Permanent(Code::kRejected, "never"));
  EXPECT_EQ(NextSettle()->outcomes[0].kind, Kind::kDead);
}

TEST_F(CoreTest, UnlimitedAttemptsNeverDie) {
  options_.retry.attempts_max.reset();
  Claim(1, 1'000'000);
  Publish(Status::Retry(Code::kRejected, "no"));
  EXPECT_EQ(NextSettle()->outcomes[0].kind, Kind::kRetry);
}

TEST_F(CoreTest, SinkDownReleasesEverythingAndProbesWithOneMessage) {
  sink_traits_ = {.batch_max = 4, .concurrency = 1};
  Claim(10);
  Publish(Status::SinkDown("refused"));
  EXPECT_EQ(core().state(), RelayState::kPaused);
  auto settle = NextSettle();
  ASSERT_TRUE(settle);
  EXPECT_EQ(settle->outcomes.size(), 10U);
  for (const auto& outcome : settle->outcomes) EXPECT_EQ(outcome.kind, Kind::kReleased);
  core().OnSettled(*settle, {});

  const auto wait = std::get<WaitStep>(core().NextClaimerStep(now_));
  EXPECT_LE(wait.until - now_, options_.probe_min);
  now_ = wait.until;
  const auto probe = std::get<ClaimStep>(core().NextClaimerStep(now_));
  EXPECT_EQ(probe.request.limit, 1U);
  core().OnClaimed(now_, now_, std::make_unique<FakeClaim>(1));
  Publish(Status::Ok());
  EXPECT_EQ(core().state(), RelayState::kRunning);
}

TEST_F(CoreTest, ProbesGrowWhileTheSinkStaysDown) {
  Claim(1);
  Publish(Status::SinkDown("refused"));
  core().OnSettled(*NextSettle(), {});
  Duration last{};
  for (int i = 0; i < 10; ++i) {
    const Duration wait = std::get<WaitStep>(core().NextClaimerStep(now_)).until - now_;
    EXPECT_LE(wait, options_.probe_max);
    if (i == 9) {
      EXPECT_GT(wait, last);
      EXPECT_GE(wait, options_.probe_max / 2);
    }
    if (i == 0) last = wait;
    now_ += wait;
    Claim(1);
    Publish(Status::SinkDown("refused"));
    core().OnSettled(*NextSettle(), {});
  }
}

TEST_F(CoreTest, MessagesFailingDuringAProbeShowThatTheSinkIsBack) {
  Claim(1);
  Publish(Status::SinkDown("refused"));
  core().OnSettled(*NextSettle(), {});
  now_ += seconds(1);
  Claim(1);
  Publish(Status::Permanent(Code::kRejected, "bad message"));
  EXPECT_EQ(core().state(), RelayState::kRunning);
}

TEST_F(CoreTest, HeartbeatAtAThirdOfTheLease) {
  Claim(10);
  const auto slice = core().NextSlice(now_);
  EXPECT_LE(std::get<WaitStep>(core().NextSettlerStep(now_)).until, now_ + seconds(20));
  now_ += seconds(20);
  const SettlerStep step = core().NextSettlerStep(now_);
  const auto* extend = std::get_if<ExtendStep>(&step);
  ASSERT_NE(extend, nullptr);
  core().OnExtended(now_, *extend, {});
  EXPECT_LE(std::get<WaitStep>(core().NextSettlerStep(now_)).until, now_ + seconds(20));
}

TEST_F(CoreTest, MessagesLostInAHeartbeatAreNeitherPublishedNorSettled) {
  sink_traits_ = {.batch_max = 1, .concurrency = 1};
  Claim(3);
  const auto first = core().NextSlice(now_);
  now_ += seconds(20);
  const auto extend = std::get<ExtendStep>(core().NextSettlerStep(now_));
  const std::vector<std::uint32_t> lost = {0, 1};
  core().OnExtended(now_, extend, lost);
  EXPECT_EQ(core().held_messages(), 1U);
  const std::vector<Status> ok(1);
  EXPECT_TRUE(core().OnPublished(now_, *first, ok));
  EXPECT_FALSE(NextSettle());
  const auto second = core().NextSlice(now_);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->first, 2U);
}

TEST_F(CoreTest, DoesNotPublishWhatItSleptThrough) {
  Claim(10);
  now_ += options_.lease;
  EXPECT_FALSE(core().NextSlice(now_));
  const auto settle = NextSettle();
  ASSERT_TRUE(settle);
  EXPECT_EQ(settle->outcomes[0].kind, Kind::kReleased);
  EXPECT_EQ(core().OnSettled(*settle, {.lost = {0, 1, 2}}).counts.lost, 3U);
}

TEST_F(CoreTest, OverdueCallsAreGivenUpAndTheirAnswerIsIgnored) {
  Claim(10);
  const auto slice = core().NextSlice(now_);
  now_ += options_.dispatch_timeout;
  EXPECT_TRUE(core().GiveUpOverdue(now_).empty());
  now_ += seconds(1);
  EXPECT_EQ(core().GiveUpOverdue(now_).size(), 1U);
  const auto settle = NextSettle();
  ASSERT_TRUE(settle);
  EXPECT_EQ(settle->outcomes[0].kind, Kind::kRetry);
  EXPECT_THAT(settle->outcomes[0].error, ::testing::HasSubstr("30s"));
  EXPECT_FALSE(core().OnPublished(now_, *slice, std::vector<Status>(10)));
}

TEST_F(CoreTest, AFailedSettleIsTriedAgainWithEveryOutcome) {
  sink_traits_ = {.batch_max = 5, .concurrency = 2};
  Claim(10);
  Publish(Status::Ok());
  const auto first = NextSettle();
  ASSERT_EQ(first->outcomes.size(), 5U);
  Publish(Status::Ok());
  const auto wait = core().OnSettleFailed(now_, *first, Status::Retry(Code::kUnavailable, "gone"));
  ASSERT_TRUE(wait);
  EXPECT_FALSE(NextSettle());
  now_ += *wait;
  const auto second = NextSettle();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->outcomes.size(), 10U);
  core().OnSettled(*second, {});
  EXPECT_EQ(core().held_messages(), 0U);
}

TEST_F(CoreTest, TransactionClaimsAreSettledWholeAndDroppedOnFailure) {
  store_traits_.leases = false;
  sink_traits_ = {.batch_max = 5, .concurrency = 1};
  Claim(10);
  Publish(Status::Ok());
  EXPECT_FALSE(NextSettle());
  Publish(Status::Ok());
  const auto settle = NextSettle();
  ASSERT_TRUE(settle);
  EXPECT_EQ(settle->outcomes.size(), 10U);
  EXPECT_FALSE(core().OnSettleFailed(now_, *settle, Status::Retry(Code::kUnavailable, "gone")));
  EXPECT_EQ(core().held_messages(), 0U);
}

TEST_F(CoreTest, StopReleasesWhatWaitsAndFinishesWhatIsPublishing) {
  sink_traits_ = {.batch_max = 4, .concurrency = 1};
  Claim(10);
  const auto slice = core().NextSlice(now_);
  core().RequestStop(now_ + seconds(10));
  EXPECT_TRUE(std::holds_alternative<WaitStep>(core().NextClaimerStep(now_)));
  EXPECT_FALSE(core().NextSlice(now_));
  const auto released = NextSettle();
  ASSERT_TRUE(released);
  EXPECT_EQ(released->outcomes.size(), 6U);
  core().OnSettled(*released, {});
  EXPECT_FALSE(core().done(now_));
  core().OnPublished(now_, *slice, std::vector<Status>(4));
  const auto delivered = NextSettle();
  ASSERT_TRUE(delivered);
  EXPECT_EQ(core().OnSettled(*delivered, {}).counts.delivered, 4U);
  EXPECT_TRUE(core().done(now_));
  EXPECT_TRUE(std::holds_alternative<StopStep>(core().NextClaimerStep(now_)));
}

TEST_F(CoreTest, StopWaitsForTheClaimUnderWayAndReleasesIt) {
  ASSERT_TRUE(std::holds_alternative<ClaimStep>(core().NextClaimerStep(now_)));
  core().RequestStop(now_ + seconds(10));
  EXPECT_FALSE(core().done(now_));
  EXPECT_TRUE(std::holds_alternative<WaitStep>(core().NextSettlerStep(now_)));
  core().OnClaimed(now_, now_, std::make_unique<FakeClaim>(10));
  const auto settle = NextSettle();
  ASSERT_TRUE(settle);
  EXPECT_EQ(core().OnSettled(*settle, {}).counts.released, 10U);
  EXPECT_TRUE(core().done(now_));
}

TEST_F(CoreTest, StopGivesUpOnHangingCallsAtItsDeadline) {
  Claim(10);
  const auto slice = core().NextSlice(now_);
  core().RequestStop(now_ + seconds(2));
  now_ += seconds(2);
  EXPECT_EQ(core().GiveUpOverdue(now_).size(), 1U);
  const auto settle = NextSettle();
  ASSERT_TRUE(settle);
  EXPECT_EQ(settle->outcomes[0].kind, Kind::kRetry);
  core().OnSettled(*settle, {});
  EXPECT_TRUE(core().done(now_));
}

TEST_F(CoreTest, SingleActiveClaimsOnlyWhileLeading) {
  options_.single_active = true;
  ASSERT_TRUE(std::holds_alternative<LeadStep>(core().NextClaimerStep(now_)));
  core().OnLead(now_, false);
  EXPECT_EQ(core().state(), RelayState::kStandby);
  now_ = std::get<WaitStep>(core().NextClaimerStep(now_)).until;
  ASSERT_TRUE(std::holds_alternative<LeadStep>(core().NextClaimerStep(now_)));
  core().OnLead(now_, true);
  Claim(10);
  // Leadership is confirmed before each claim, and its loss gives back what waits.
  ASSERT_TRUE(std::holds_alternative<LeadStep>(core().NextClaimerStep(now_)));
  core().OnLead(now_, Status::Retry(Code::kUnavailable, "connection lost"));
  EXPECT_EQ(core().state(), RelayState::kStandby);
  EXPECT_FALSE(core().NextSlice(now_));
  const auto settle = NextSettle();
  ASSERT_TRUE(settle);
  core().OnSettled(*settle, {});
  EXPECT_TRUE(std::holds_alternative<ResignStep>(core().NextClaimerStep(now_)));
  core().OnResigned();
  now_ += seconds(1);
  EXPECT_TRUE(std::holds_alternative<LeadStep>(core().NextClaimerStep(now_)));
}

TEST_F(CoreTest, DrainedIsAskedOnlyWhenNothingIsHeldAndTheLastLookWasEmpty) {
  core().WantDrained(true);
  Claim(10);
  Publish(Status::Ok());
  core().OnSettled(*NextSettle(), {});
  Claim(0);
  now_ += seconds(1);
  ASSERT_TRUE(std::holds_alternative<CheckDrainedStep>(core().NextClaimerStep(now_)));
  core().OnDrainedChecked(now_, false);
  now_ += seconds(1);
  Claim(0);
  now_ += seconds(1);
  ASSERT_TRUE(std::holds_alternative<CheckDrainedStep>(core().NextClaimerStep(now_)));
  core().OnDrainedChecked(now_, true);
  EXPECT_TRUE(core().drained());
}

TEST_F(CoreTest, OneByOneSinksHoldOnlyWhatTheyCanUse) {
  options_.batch_size = 500;
  options_.window = 2000;
  sink_traits_ = {.batch_max = 1, .concurrency = 2};
  const auto step = std::get<ClaimStep>(core().NextClaimerStep(now_));
  EXPECT_EQ(step.request.limit, 128U);
}

}  // namespace
}  // namespace outbox::relay
