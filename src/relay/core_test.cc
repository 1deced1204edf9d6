#include "relay/core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
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
      SetNumber(messages_[i], i);
      messages_[i].attempt = attempt;
      messages_[i].payload = "{}";
    }
  }
  // Its first `count` messages were in hand when a relay died.
  std::unique_ptr<FakeClaim> InDoubt(std::size_t count) && {
    for (std::size_t i = 0; i < count; ++i) messages_[i].in_doubt = true;
    return std::make_unique<FakeClaim>(std::move(*this));
  }
  // Its messages are these, instead of the first of a table.
  static std::unique_ptr<FakeClaim> Of(const std::vector<std::size_t>& numbers) {
    auto claim = std::make_unique<FakeClaim>(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) SetNumber(claim->messages_[i], numbers[i]);
    return claim;
  }
  std::span<const Message> messages() const override { return messages_; }
  Result<store::SettleReport> Settle(std::span<const store::Outcome>, Deadline) override {
    return store::SettleReport{};
  }
  Result<std::vector<std::uint32_t>> Extend(milliseconds, Deadline) override {
    return std::vector<std::uint32_t>{};
  }

 private:
  static void SetNumber(Message& message, std::size_t number) {
    std::array<std::uint8_t, 16> bytes{};
    bytes[0] = static_cast<std::uint8_t>(number);
    bytes[1] = static_cast<std::uint8_t>(number >> 8);
    message.id = Uuid(bytes);
    message.seq = static_cast<std::int64_t>(number);
  }

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

  // The heartbeat that is due.
  void Extend() {
    const SettlerStep step = core().NextSettlerStep(now_);
    ASSERT_TRUE(std::holds_alternative<ExtendStep>(step));
    core().OnExtended(now_, std::get<ExtendStep>(step), {});
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

// Every claim has one message that is not answered; the others of it are settled.
TEST_F(CoreTest, SlowMessagesOfManyClaimsKeepNoOthersWaiting) {
  store_traits_.claims_max = 4;
  sink_traits_ = {.batch_max = 1, .concurrency = 8};
  std::vector<Slice> slow;
  for (std::size_t round = 0; round < 7; ++round) {
    Claim(10);
    slow.push_back(*core().NextSlice(now_));
    for (int i = 1; i < 10; ++i) Publish(Status::Ok());
    const auto settle = NextSettle();
    ASSERT_TRUE(settle);
    EXPECT_EQ(settle->outcomes.size(), 9U) << "settled while the slow one is still out";
    core().OnSettled(*settle, {});
    EXPECT_EQ(core().held_messages(), slow.size());
  }
  EXPECT_EQ(core().held_claims(), 7U);
  Claim(10);
  EXPECT_TRUE(core().NextSlice(now_)) << "the slot that is left";
  EXPECT_FALSE(core().NextSlice(now_));
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

TEST_F(CoreTest, WhatASinkDidNotComeToCostsNoAttempt) {
  sink_traits_ = {.batch_max = 3, .concurrency = 1};
  Claim(3);
  const auto slice = core().NextSlice(now_);
  ASSERT_TRUE(slice);
  const std::array results{Status::Ok(), Status::Retry(Code::kRejected, "not attempted"),
                           Status::NotAttempted()};
  ASSERT_TRUE(core().OnPublished(now_, *slice, results));
  const auto settle = NextSettle();
  ASSERT_TRUE(settle);
  ASSERT_EQ(settle->outcomes.size(), 3U);
  EXPECT_EQ(settle->outcomes[0].kind, Kind::kDelivered);
  EXPECT_EQ(settle->outcomes[1].kind, Kind::kRetry) << "its own failure, whatever its text";
  EXPECT_EQ(settle->outcomes[2].kind, Kind::kReleased);
  EXPECT_EQ(core().state(), RelayState::kRunning);
}

TEST_F(CoreTest, APostponedMessageWaitsAndCostsNoAttemptHoweverOften) {
  for (int round = 0; round < 10; ++round) {
    Claim(2, 3);
    const auto slice = core().NextSlice(now_);
    const Status later = Status::Postponed("no leader", seconds(7));
    // Also when nothing else was tried in the call.
    core().OnPublished(now_, *slice,
                       std::vector<Status>{round % 2 == 0 ? Status::Ok() : later, later});
    EXPECT_EQ(core().state(), RelayState::kRunning);
    const auto settle = NextSettle();
    ASSERT_TRUE(settle);
    EXPECT_EQ(settle->outcomes[1].kind, Kind::kReleased);
    EXPECT_EQ(settle->outcomes[1].retry_in, seconds(7));
    EXPECT_THAT(settle->outcomes[1].error, ::testing::HasSubstr("no leader"));
    core().OnSettled(*settle, {});
    now_ += seconds(10);
  }
}

TEST_F(CoreTest, ASinkThatComesToNothingCostsAnAttempt) {
  Claim(1);
  Publish(Status::NotAttempted());
  EXPECT_EQ(NextSettle()->outcomes[0].kind, Kind::kRetry) << "without end otherwise";
}

TEST_F(CoreTest, SinkDownReleasesEverythingAndProbesWithOneMessage) {
  sink_traits_ = {.batch_max = 4, .concurrency = 1};
  Claim(10);
  Publish(Status::SinkDown("refused"));
  EXPECT_EQ(core().state(), RelayState::kWaitingForSink);
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

TEST_F(CoreTest, APauseLastsAsLongAsTheDestinationAsksButNotForEver) {
  const auto wait_after = [&](milliseconds asked) {
    Claim(1);
    Publish(Status::SinkDown("busy").WithRetryAfter(asked));
    core().OnSettled(*NextSettle(), {});
    core().OnWork(now_);
    const Duration wait = std::get<WaitStep>(core().NextClaimerStep(now_)).until - now_;
    now_ += wait;
    return wait;
  };
  EXPECT_LE(wait_after(milliseconds(1)), options_.probe_min) << "the probe's own wait is longer";
  EXPECT_EQ(wait_after(std::chrono::hours(2)), std::chrono::hours(2));
  EXPECT_EQ(wait_after(std::chrono::hours(240)), std::chrono::hours(24));
}

TEST_F(CoreTest, TheLongestWaitThatTheDestinationAsksForCounts) {
  sink_traits_ = {.batch_max = 2, .concurrency = 2};
  Claim(4);
  const auto first = *core().NextSlice(now_);
  const auto second = *core().NextSlice(now_);
  const Status refused = Status::SinkDown("refused");
  const Status minute = Status::SinkDown("busy").WithRetryAfter(std::chrono::minutes(1));
  const Status hour = Status::SinkDown("busy").WithRetryAfter(std::chrono::hours(1));
  core().OnPublished(now_, first, std::vector<Status>{minute, refused});
  EXPECT_EQ(std::get<WaitStep>(core().NextClaimerStep(now_)).until, now_ + std::chrono::minutes(1));
  core().OnPublished(now_, second, std::vector<Status>{hour, minute});
  EXPECT_EQ(std::get<WaitStep>(core().NextClaimerStep(now_)).until, now_ + std::chrono::hours(1));
}

TEST_F(CoreTest, WhatWasClaimedWhileItPausedIsGivenBack) {
  sink_traits_ = {.batch_max = 10, .concurrency = 1};
  Claim(10);
  const auto slice = *core().NextSlice(now_);
  ASSERT_TRUE(std::holds_alternative<ClaimStep>(core().NextClaimerStep(now_)));
  const Status busy = Status::SinkDown("busy").WithRetryAfter(std::chrono::hours(1));
  core().OnPublished(now_, slice, std::vector<Status>(10, busy));
  core().OnSettled(*NextSettle(), {});
  core().OnClaimed(now_, now_, std::make_unique<FakeClaim>(10));
  EXPECT_FALSE(core().NextSlice(now_));
  const auto settle = NextSettle();
  ASSERT_TRUE(settle);
  EXPECT_EQ(settle->outcomes.size(), 10U);
  core().OnSettled(*settle, {});
  EXPECT_EQ(std::get<WaitStep>(core().NextClaimerStep(now_)).until, now_ + std::chrono::hours(1));
}

TEST_F(CoreTest, ASinkThatWantsNoMoreMessagesPausesTheRelayUntilItIsResumed) {
  Claim(10);
  Publish(Status::SinkDown("the endpoint is gone").WithPause());
  EXPECT_EQ(core().state(), RelayState::kPaused);
  EXPECT_EQ(core().pause_reason(), "the endpoint is gone");
  EXPECT_EQ(core().why(), "the endpoint is gone");
  const auto settle = NextSettle();
  ASSERT_TRUE(settle);
  EXPECT_EQ(core().OnSettled(*settle, {}).counts.released, 10U);
  for (int hours = 0; hours < 100; ++hours) {
    now_ += std::chrono::hours(1);
    core().OnWork(now_);
    ASSERT_TRUE(std::holds_alternative<WaitStep>(core().NextClaimerStep(now_)));
  }
  // Resumed, it probes at once, and pauses again by the next such answer.
  core().Pause(now_, false);
  EXPECT_EQ(core().pause_reason(), "");
  EXPECT_EQ(core().state(), RelayState::kWaitingForSink);
  Claim(1);
  Publish(Status::SinkDown("still gone").WithPause());
  EXPECT_EQ(core().state(), RelayState::kPaused);
  EXPECT_EQ(core().OnSettled(*NextSettle(), {}).counts.released, 1U);
  core().Pause(now_, false);
  Claim(1);
  Publish(Status::Ok());
  EXPECT_EQ(core().state(), RelayState::kRunning);
}

TEST_F(CoreTest, AMessageThatIsAlwaysAnsweredGoneCostsNoAttemptWhileOthersGetThrough) {
  sink_traits_.batch_max = 1;
  for (int i = 0; i < 10; ++i) {
    Claim(2);
    Publish(Status::Ok());
    Publish(Status::SinkDown("gone").WithPause());
    ASSERT_EQ(core().state(), RelayState::kPaused);
    const auto settle = NextSettle();
    ASSERT_TRUE(settle);
    const Settled settled = core().OnSettled(*settle, {});
    EXPECT_EQ(settled.counts.released, 1U);
    EXPECT_EQ(settled.counts.retried, 0U);
    core().Pause(now_, false);
    // The probe after it delivers the other one.
    Claim(1);
    Publish(Status::Ok());
    ASSERT_TRUE(core().OnSettled(*NextSettle(), {}).counts.delivered == 1U);
  }
}

TEST_F(CoreTest, AnAnswerToACallFromBeforeTheResumePausesNoMore) {
  sink_traits_.batch_max = 5;
  Claim(10);
  const auto first = core().NextSlice(now_);
  const auto second = core().NextSlice(now_);
  ASSERT_TRUE(first && second);
  const std::vector<Status> gone(5, Status::SinkDown("gone").WithPause());
  core().OnPublished(now_, *first, gone);
  ASSERT_EQ(core().state(), RelayState::kPaused);
  core().Pause(now_, false);
  core().OnPublished(now_, *second, gone);
  EXPECT_EQ(core().state(), RelayState::kWaitingForSink);
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

// Plays a table whose message 0 is always answered "sink down", to a sink of one message a call.
// Returns how often it was refused before that cost it an attempt.
class OneIsRefused : public CoreTest {
 protected:
  OneIsRefused() { sink_traits_ = {.batch_max = 1, .concurrency = 1}; }

  // Claims, publishes and settles until the claimer has to wait; then it is later.
  void Round() {
    const ClaimerStep step = core().NextClaimerStep(now_);
    if (const auto* wait = std::get_if<WaitStep>(&step)) {
      now_ = std::min(wait->until, now_ + seconds(60));
    } else {
      const std::size_t limit = std::get<ClaimStep>(step).request.limit;
      std::vector<std::size_t> numbers;
      if (core().state() == RelayState::kWaitingForSink)
        widest_probe_ = std::max(widest_probe_, limit);
      if (limit > slow_above_) {
        core().OnClaimFailed(now_, Status::Retry(Code::kDeadline, "too slow"));
        return;
      }
      for (std::size_t n = first_; numbers.size() < limit && n < others_ + bad_; ++n) {
        if (!delivered_.contains(n)) numbers.push_back(n);
      }
      core().OnClaimed(now_, now_, FakeClaim::Of(numbers));
    }
    while (const auto slice = core().NextSlice(now_)) {
      const auto number = static_cast<std::size_t>(slice->messages()[0].seq);
      const bool refused = all_down_ || number < bad_;
      if (!refused) delivered_.insert(number);
      ++calls_[number];
      core().OnPublished(now_, *slice,
                         std::vector<Status>(1, refused ? Status::SinkDown("401") : Status::Ok()));
    }
    while (const auto settle = NextSettle()) {
      for (const auto& outcome : settle->outcomes) {
        if (outcome.kind == Kind::kRetry) charged_.push_back(outcome);
      }
      core().OnSettled(*settle, {});
    }
  }

  std::size_t bad_ = 1;
  std::size_t others_ = 40;
  std::size_t first_ = 0;
  std::size_t slow_above_ = std::numeric_limits<std::size_t>::max();  // claims of more come late
  bool all_down_ = false;
  std::set<std::size_t> delivered_;
  std::map<std::size_t, int> calls_;
  std::vector<store::Outcome> charged_;
  std::size_t widest_probe_ = 0;
};

TEST_F(OneIsRefused, CostsAnAttemptOnceOthersGetThroughBetweenItsRefusals) {
  for (int i = 0; i < 200 && charged_.empty(); ++i) Round();
  ASSERT_EQ(charged_.size(), 1U);
  EXPECT_GE(delivered_.size(), 3U) << "evidence that the sink is up";
  EXPECT_THAT(charged_[0].error, ::testing::HasSubstr("not for others: 401"));
  EXPECT_GT(charged_[0].retry_in, milliseconds(0));
  EXPECT_EQ(core().state(), RelayState::kRunning);
  // It waits for its next attempt, and the others go.
  first_ = 1;
  for (int i = 0; i < 100 && delivered_.size() < others_; ++i) Round();
  EXPECT_EQ(delivered_.size(), others_);
}

TEST_F(OneIsRefused, ManyOfThemAreSteppedOver) {
  bad_ = 10;
  const TimePoint start = now_;
  for (int i = 0; i < 400 && delivered_.empty(); ++i) Round();
  EXPECT_FALSE(delivered_.empty());
  EXPECT_LT(now_ - start, std::chrono::minutes(2));
}

TEST_F(OneIsRefused, IsNotSaidOfAnyWhileAllAre) {
  all_down_ = true;
  for (int i = 0; i < 400; ++i) Round();
  EXPECT_TRUE(charged_.empty());
  EXPECT_GT(calls_.size(), 1U) << "only one message was tried";
  EXPECT_LE(widest_probe_, options_.window);
  all_down_ = false;
  bad_ = 0;
  others_ = 40;
  for (int i = 0; i < 400 && delivered_.size() < others_; ++i) Round();
  EXPECT_EQ(delivered_.size(), others_);
  EXPECT_TRUE(charged_.empty());
}

TEST_F(OneIsRefused, AProbeOfMoreThanComesInTimeIsNotRepeatedForEver) {
  options_.batch_size = 10;
  options_.window = 1000;
  slow_above_ = 10;
  all_down_ = true;
  for (int i = 0; i < 400; ++i) Round();
  ASSERT_GT(widest_probe_, slow_above_) << "the outage was long enough";
  all_down_ = false;
  bad_ = 0;
  for (int i = 0; i < 100 && delivered_.size() < others_; ++i) Round();
  EXPECT_EQ(delivered_.size(), others_);
}

TEST_F(OneIsRefused, IsNotSaidOfMessagesWhenTheSinkDoesNotOpen) {
  Claim(1);
  for (int i = 0; i < 20; ++i) {
    const auto slice = core().NextSlice(now_);
    ASSERT_TRUE(slice);
    core().OnPublished(now_, *slice, std::vector<Status>(1, Status::SinkDown("refused")), false);
    core().OnSettled(*NextSettle(), {});
    now_ = std::get<WaitStep>(core().NextClaimerStep(now_)).until;
    EXPECT_EQ(std::get<ClaimStep>(core().NextClaimerStep(now_)).request.limit, 1U);
    core().OnClaimed(now_, now_, std::make_unique<FakeClaim>(1));
  }
}

// A sink that is asked to wait refuses what it is given without sending it.
TEST_F(CoreTest, WhatWasNotSentIsNeverSaidToBeRefusedForItself) {
  sink_traits_ = {.batch_max = 1, .concurrency = 1};
  const Status not_sent(Code::kNotAttempted, Disposition::kSinkDown, "to be left alone");
  for (int round = 0; round < 20; ++round) {
    Claim(1);
    Publish(not_sent);
    const auto released = NextSettle();
    ASSERT_TRUE(released);
    EXPECT_EQ(released->outcomes[0].kind, Kind::kReleased) << round;
    core().OnSettled(*released, {});
    now_ += std::chrono::minutes(1);
    ASSERT_TRUE(std::holds_alternative<ClaimStep>(core().NextClaimerStep(now_)));
    core().OnClaimed(now_, now_, FakeClaim::Of({99}));
    Publish(Status::Ok());
    core().OnSettled(*NextSettle(), {});
  }
}

// A server that takes a few of many requests at a time refuses the others again and again.
TEST_F(CoreTest, CallsThatWereUnderWayInAnOutageAreNotSaidToBeRefusedForThemselves) {
  sink_traits_ = {.batch_max = 1, .concurrency = 3};
  for (int round = 0; round < 20; ++round) {
    now_ += std::chrono::minutes(1);
    Claim(1);
    Publish(Status::Ok());
    core().OnSettled(*NextSettle(), {});
    now_ += std::chrono::minutes(1);
    ASSERT_TRUE(std::holds_alternative<ClaimStep>(core().NextClaimerStep(now_)));
    const auto first = static_cast<std::size_t>(100 + round);
    core().OnClaimed(now_, now_, FakeClaim::Of({first, 1, 2}));
    std::vector<Slice> slices;
    for (int i = 0; i < 3; ++i) slices.push_back(*core().NextSlice(now_));
    for (const Slice& slice : slices) {
      core().OnPublished(now_, slice, std::vector<Status>{Status::SinkDown("one at a time")});
    }
    const auto released = NextSettle();
    ASSERT_TRUE(released);
    for (const auto& outcome : released->outcomes) EXPECT_EQ(outcome.kind, Kind::kReleased);
    core().OnSettled(*released, {});
  }
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
  Extend();
  const auto settle = NextSettle();
  ASSERT_TRUE(settle);
  EXPECT_EQ(settle->outcomes[0].kind, Kind::kReleased);
  EXPECT_EQ(core().OnSettled(*settle, {.lost = {0, 1, 2}}).counts.lost, 3U);
}

TEST_F(CoreTest, OverdueCallsAreGivenUpAndTheirAnswerIsIgnored) {
  Claim(10);
  const auto slice = core().NextSlice(now_);
  EXPECT_TRUE(core().OnReached(*slice));
  now_ += options_.dispatch_timeout;
  EXPECT_TRUE(core().GiveUpOverdue(now_).empty());
  now_ += seconds(1);
  EXPECT_EQ(core().GiveUpOverdue(now_).size(), 1U);
  Extend();
  const auto settle = NextSettle();
  ASSERT_TRUE(settle);
  EXPECT_EQ(settle->outcomes[0].kind, Kind::kRetry);
  EXPECT_THAT(settle->outcomes[0].error, ::testing::HasSubstr("30s"));
  EXPECT_FALSE(core().OnPublished(now_, *slice, std::vector<Status>(10)));
}

TEST_F(CoreTest, OverdueCallsThatNeverReachedTheSinkCostNoAttemptAndPause) {
  Claim(10);
  const auto slice = core().NextSlice(now_);
  now_ += options_.dispatch_timeout + seconds(1);
  const auto given_up = core().GiveUpOverdue(now_);
  ASSERT_EQ(given_up.size(), 1U);
  EXPECT_FALSE(given_up[0].reached);
  EXPECT_EQ(core().state(), RelayState::kWaitingForSink);
  EXPECT_THAT(std::string(core().why()), ::testing::HasSubstr("30s"));
  Extend();
  const auto settle = NextSettle();
  ASSERT_TRUE(settle);
  EXPECT_EQ(core().OnSettled(*settle, {}).counts.released, 10U);
  EXPECT_FALSE(core().OnReached(*slice)) << "others may publish these messages by now";
}

TEST_F(CoreTest, StopReleasesWhatHasNotReachedTheSink) {
  Claim(10);
  (void)core().NextSlice(now_);
  core().RequestStop(now_ + seconds(2));
  now_ += seconds(2);
  EXPECT_EQ(core().GiveUpOverdue(now_).size(), 1U);
  const auto settle = NextSettle();
  ASSERT_TRUE(settle);
  EXPECT_EQ(core().OnSettled(*settle, {}).counts.released, 10U);
}

TEST_F(CoreTest, AFailedSettleIsTriedAgainWithEveryOutcome) {
  sink_traits_ = {.batch_max = 5, .concurrency = 2};
  Claim(10);
  Publish(Status::Ok());
  const auto first = NextSettle();
  ASSERT_EQ(first->outcomes.size(), 5U);
  Publish(Status::Ok());
  const auto failure =
      core().OnSettleFailed(now_, *first, Status::Retry(Code::kUnavailable, "gone"));
  EXPECT_TRUE(failure.forgotten.empty());
  EXPECT_FALSE(NextSettle());
  now_ += failure.retry_in;
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
  const Status gone = Status::Retry(Code::kUnavailable, "gone");
  EXPECT_EQ(core().OnSettleFailed(now_, *settle, gone).forgotten.size(), 10U);
  EXPECT_EQ(core().held_messages(), 0U);
}

// A table of messages that transaction claims take from, in order, as long as they are not settled.
// The database refuses to record some outcomes: the whole claim is void then.
class VoidClaims : public CoreTest {
 protected:
  using Refuses = std::function<bool(std::size_t number, const store::Outcome&)>;

  VoidClaims() {
    store_traits_ = {.claims_max = 8, .leases = false, .expires = true};
    options_.batch_size = 13;
    options_.window = 64;
    options_.retry.attempts_max = 4;
  }

  // One claim from beginning to end. Returns how many outcomes were recorded.
  std::size_t Round(const Refuses& refuses) {
    const ClaimerStep next = core().NextClaimerStep(now_);
    if (const auto* wait = std::get_if<WaitStep>(&next)) {
      waits_.push_back(wait->until - now_);
      now_ = wait->until;
      return 0;
    }
    std::vector<std::size_t> numbers;
    for (const auto& [number, due] : table_) {
      if (due <= now_ && numbers.size() < std::get<ClaimStep>(next).request.limit) {
        numbers.push_back(number);
      }
    }
    core().OnClaimed(now_, now_, FakeClaim::Of(numbers));
    while (const auto slice = core().NextSlice(now_)) {
      for (const Message& message : slice->messages()) ++published_[Number(message)];
      core().OnPublished(now_, *slice, std::vector<Status>(slice->count));
    }
    const auto settle = NextSettle();
    if (!settle) return 0;
    const auto messages = settle->held->claim->messages();
    const bool refused = std::ranges::any_of(settle->outcomes, [&](const store::Outcome& outcome) {
      return !outcome.untouched && refuses(Number(messages[outcome.index]), outcome);
    });
    if (refused) {
      core().OnSettleFailed(now_, *settle, Status::Permanent(Code::kInvalidArgument, "no"));
      return 0;
    }
    std::size_t recorded = 0;
    for (const store::Outcome& outcome : settle->outcomes) {
      const std::size_t number = Number(messages[outcome.index]);
      if (outcome.kind == Kind::kReleased) continue;
      ++recorded;
      outcomes_[number].push_back(outcome);
      if (outcome.kind == Kind::kRetry) {
        table_[number] = now_ + outcome.retry_in;
      } else {
        table_.erase(number);
      }
    }
    core().OnSettled(*settle, {});
    return recorded;
  }

  static std::size_t Number(const Message& message) {
    return static_cast<std::size_t>(message.seq);
  }
  void Add(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) table_[table_.size()] = now_;
  }

  std::map<std::size_t, TimePoint> table_;  // when each is due
  std::map<std::size_t, int> published_;
  std::map<std::size_t, std::vector<store::Outcome>> outcomes_;
  std::vector<Duration> waits_;
};

TEST_F(VoidClaims, OneRefusedMessageIsFoundAloneAndItsNeighboursAreSettled) {
  for (const std::size_t bad : {0U, 5U, 12U}) {
    core_.reset();
    table_.clear();
    published_.clear();
    outcomes_.clear();
    Add(13);
    const auto refuses = [&](std::size_t number, const store::Outcome& outcome) {
      return number == bad && outcome.kind == Kind::kDelivered;
    };
    for (int i = 0; i < 200 && (table_.size() > 1 || outcomes_[bad].empty()); ++i) Round(refuses);
    EXPECT_EQ(table_.size(), 1U) << "all but one are settled";
    // log2(13) + 2, rounded down.
    for (const auto& [number, times] : published_) EXPECT_LE(times, 5) << number;
    ASSERT_FALSE(outcomes_[bad].empty());
    EXPECT_EQ(outcomes_[bad][0].kind, Kind::kRetry);
    EXPECT_THAT(outcomes_[bad][0].error, HasSubstr("refused to record"));
  }
}

TEST_F(VoidClaims, AMessageThatRefusesEveryChangeWaitsLongerAndLonger) {
  options_.poll_min = options_.poll_max = seconds(1);
  Add(13);
  const auto refuses = [&](std::size_t number, const store::Outcome&) { return number == 3; };
  const TimePoint begin = now_;
  for (int i = 0; i < 50'000 && now_ < begin + std::chrono::hours(1); ++i) {
    Round(refuses);
    if (i % 10 == 0) table_[1000 + static_cast<std::size_t>(i)] = now_;
  }
  EXPECT_GE(now_, begin + std::chrono::hours(1));
  EXPECT_LE(published_[3], 5 + 30) << "five minutes apart in the end";
  for (const auto& [number, times] : published_) {
    if (number == 3) continue;
    EXPECT_LE(times, 5) << number;
  }
  EXPECT_LE(table_.size(), 2U);
}

TEST_F(VoidClaims, SeveralRefusedMessagesAreFoundOneByOne) {
  options_.retry.attempts_max = std::nullopt;
  Add(60);
  const auto refuses = [&](std::size_t number, const store::Outcome&) { return number % 20 == 7; };
  for (int i = 0; i < 2000 && table_.size() > 3; ++i) Round(refuses);
  EXPECT_EQ(table_.size(), 3U);
  for (const auto& [number, times] : published_) {
    if (number % 20 == 7) continue;
    EXPECT_LE(times, 1 + 3 * 4) << number;
  }
}

TEST_F(VoidClaims, WhenEverythingIsRefusedFewArePublishedAndSeldom) {
  Add(50);
  const TimePoint begin = now_;
  int rounds = 0;
  while (now_ < begin + std::chrono::minutes(10) && ++rounds < 5000) {
    Round([](std::size_t, const store::Outcome&) { return true; });
  }
  EXPECT_LT(rounds, 5000);
  int total = 0;
  for (const auto& [number, times] : published_) total += times;
  EXPECT_LE(total, 500);
  // And it goes on by itself.
  for (int i = 0; i < 2000 && !table_.empty(); ++i) {
    Round([](std::size_t, const store::Outcome&) { return false; });
  }
  EXPECT_TRUE(table_.empty());
}

TEST_F(VoidClaims, AFailureOfTheConnectionIsNoRefusal) {
  Claim(10);
  Publish(Status::Ok());
  const auto settle = NextSettle();
  ASSERT_TRUE(settle);
  core().OnSettleFailed(now_, *settle, Status::Permanent(Code::kUnavailable, "gone"));
  const auto wait = std::get<WaitStep>(core().NextClaimerStep(now_));
  EXPECT_GT(wait.until, now_);
  const auto again = std::get<ClaimStep>(core().NextClaimerStep(wait.until));
  EXPECT_EQ(again.request.limit, 13U);
  EXPECT_TRUE(again.request.from_start);
}

// Settles as a database does that refuses the outcomes of some messages for good.
class SettleRefused : public CoreTest {
 protected:
  SettleRefused() {
    options_.batch_size = 100;
    options_.window = 100;
  }

  void SettleAll(const std::function<bool(const store::Outcome&)>& refuses) {
    for (;;) {
      const auto settle = NextSettle();
      if (!settle) break;
      ++calls_;
      if (std::ranges::any_of(settle->outcomes, refuses)) {
        const auto failure =
            core().OnSettleFailed(now_, *settle, Status::Permanent(Code::kRejected, "22P05"));
        forgotten_.insert(failure.forgotten.begin(), failure.forgotten.end());
      } else {
        for (const auto& outcome : settle->outcomes) recorded_[outcome.index] = outcome.error;
        core().OnSettled(*settle, {});
      }
    }
  }

  int calls_ = 0;
  std::set<std::uint32_t> forgotten_;
  std::map<std::uint32_t, std::string> recorded_;
};

TEST_F(SettleRefused, OneOutcomeTakesNoOthersAlong) {
  Claim(100);
  Publish(Status::Ok());
  SettleAll([](const store::Outcome& outcome) { return outcome.index == 37; });
  EXPECT_EQ(forgotten_, std::set<std::uint32_t>{37});
  EXPECT_EQ(recorded_.size(), 99U);
  EXPECT_LT(calls_, 40);
  EXPECT_EQ(core().held_messages(), 0U);
}

TEST_F(SettleRefused, AnErrorThatTheDatabaseDoesNotTakeIsLeftOut) {
  Claim(100);
  Publish(Status::Retry(Code::kRejected, "\xe2\x82\xac"));
  SettleAll([](const store::Outcome& outcome) {
    return outcome.index % 50 == 7 && outcome.error.starts_with("\xe2");
  });
  EXPECT_TRUE(forgotten_.empty());
  EXPECT_EQ(recorded_.size(), 100U);
  EXPECT_EQ(recorded_[6], "\xe2\x82\xac");
  EXPECT_EQ(recorded_[7], "the error's text could not be stored");
}

TEST_F(SettleRefused, ATableThatRefusesEverythingIsNotAskedForEachMessage) {
  Claim(100);
  Publish(Status::Ok());
  SettleAll([](const store::Outcome&) { return true; });
  EXPECT_EQ(forgotten_.size(), 100U);
  EXPECT_LT(calls_, 30);
  EXPECT_EQ(core().held_messages(), 0U);
}

TEST_F(CoreTest, AClaimThatDoesNotComeInTimeIsMadeSmallerAndGrowsBack) {
  const Status late = Status::InDoubt(Code::kDeadline, "no answer by the deadline");
  const auto next = [&] {
    now_ += seconds(10);
    return std::get<ClaimStep>(core().NextClaimerStep(now_)).request.limit;
  };
  EXPECT_EQ(next(), 10U);
  core().OnClaimFailed(now_, late);
  EXPECT_EQ(next(), 5U);
  core().OnClaimFailed(now_, Status::Retry(Code::kUnavailable, "gone"));
  EXPECT_EQ(next(), 5U) << "not a matter of its size";
  for (int i = 0; i < 5; ++i) {
    core().OnClaimFailed(now_, late);
    EXPECT_GE(next(), 1U);
  }
  const auto arrives_after = [&](Duration took) {
    const std::size_t limit = core().claim_limit();
    core().OnClaimed(now_ - took, now_, std::make_unique<FakeClaim>(limit));
    Publish(Status::Ok());
    core().OnSettled(*NextSettle(), {});
  };
  arrives_after(seconds(8));
  EXPECT_EQ(next(), 1U) << "it was slow enough as it is";
  for (const std::size_t limit : {2U, 4U, 8U, 10U, 10U}) {
    arrives_after(milliseconds(5));
    EXPECT_EQ(next(), limit);
  }
}

TEST_F(CoreTest, TransactionClaimsThatExpireAreExtended) {
  store_traits_.leases = false;
  sink_traits_ = {.batch_max = 5, .concurrency = 1};
  Claim(10);
  Publish(Status::Ok());
  now_ += options_.lease / 3;
  const auto extend = std::get<ExtendStep>(core().NextSettlerStep(now_));
  core().OnExtended(now_, extend, {});
  EXPECT_TRUE(std::holds_alternative<WaitStep>(core().NextSettlerStep(now_)));
  now_ += options_.lease / 3;
  const auto again = std::get<ExtendStep>(core().NextSettlerStep(now_));
  std::vector<std::uint32_t> lost(10);
  std::iota(lost.begin(), lost.end(), 0U);
  core().OnExtended(now_, again, lost);
  EXPECT_EQ(core().held_messages(), 0U);
  EXPECT_FALSE(core().NextSlice(now_)) << "what waited is not published";
}

TEST_F(CoreTest, TransactionClaimsThatLastAreLeftAlone) {
  store_traits_.leases = store_traits_.expires = false;
  Claim(10);
  now_ += 100 * options_.lease;
  EXPECT_TRUE(std::holds_alternative<WaitStep>(core().NextSettlerStep(now_)));
  EXPECT_TRUE(core().NextSlice(now_));
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
  EXPECT_TRUE(core().OnReached(*slice));
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
  core().OnLead(now_, store::Leadership());
  EXPECT_EQ(core().state(), RelayState::kStandby);
  now_ = std::get<WaitStep>(core().NextClaimerStep(now_)).until;
  ASSERT_TRUE(std::holds_alternative<LeadStep>(core().NextClaimerStep(now_)));
  core().OnLead(now_, store::Leadership(TimePoint::max()));
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

class LeadThatEnds : public CoreTest {
 protected:
  LeadThatEnds() { options_.single_active = true; }

  // Leads from now on for the lease.
  void Lead() {
    ASSERT_TRUE(std::holds_alternative<LeadStep>(core().NextClaimerStep(now_)));
    core().OnLead(now_, store::Leadership(now_ + options_.lease));
  }
  void FailToRenew() {
    ASSERT_TRUE(std::holds_alternative<LeadStep>(core().NextClaimerStep(now_)));
    core().OnLead(now_, Status::Retry(Code::kUnavailable, "connection lost"));
  }
};

TEST_F(LeadThatEnds, IsRenewedAtAThirdWhileNothingMayBeClaimed) {
  Lead();
  Claim(10);
  Lead();
  Claim(10);
  const auto full = std::get<WaitStep>(core().NextClaimerStep(now_));
  EXPECT_EQ(full.until, now_ + options_.lease / 3);
  now_ = full.until;
  Lead();
  EXPECT_EQ(std::get<WaitStep>(core().NextClaimerStep(now_)).until, now_ + options_.lease / 3);
}

TEST_F(LeadThatEnds, IsRenewedWhileStopping) {
  Lead();
  Claim(10);
  ASSERT_TRUE(core().NextSlice(now_));
  core().RequestStop(now_ + seconds(40));
  now_ += options_.lease / 3;
  Lead();
}

TEST_F(LeadThatEnds, SurvivesFailuresUntilThen) {
  Lead();
  Claim(10);
  FailToRenew();
  EXPECT_TRUE(core().leading());
  EXPECT_TRUE(core().NextSlice(now_)) << "it is still the leader";
  now_ = std::get<WaitStep>(core().NextClaimerStep(now_)).until;
  Lead();
  EXPECT_TRUE(std::holds_alternative<ClaimStep>(core().NextClaimerStep(now_)));
}

TEST_F(LeadThatEnds, HandsNothingOutFromThenOn) {
  options_.lease = seconds(9);
  Lead();
  Claim(10);
  now_ += seconds(3);
  Extend();
  now_ += seconds(6);
  EXPECT_FALSE(core().NextSlice(now_)) << "the leases are ours, the lead is not";
  core().NextClaimerStep(now_);
  EXPECT_FALSE(core().leading());
  EXPECT_EQ(core().state(), RelayState::kStandby);
  Extend();
  const auto settle = NextSettle();
  ASSERT_TRUE(settle);
  EXPECT_EQ(settle->outcomes[0].kind, Kind::kReleased);
  core().OnSettled(*settle, {});
  EXPECT_TRUE(std::holds_alternative<ResignStep>(core().NextClaimerStep(now_)));
}

TEST_F(CoreTest, LeasesAreExtendedBeforeAnythingIsSettled) {
  Claim(10);
  Claim(10);
  Publish(Status::Ok());
  now_ += options_.lease / 3;
  Extend();
  Extend();
  EXPECT_TRUE(NextSettle());
}

TEST_F(CoreTest, ASettleThatIsTooSlowIsMadeSmaller) {
  Claim(10);
  Publish(Status::Ok());
  const Status slow = Status::InDoubt(Code::kDeadline, "no answer by the deadline");
  for (const std::size_t expected : {10U, 5U, 2U, 1U, 1U}) {
    const auto settle = NextSettle();
    ASSERT_TRUE(settle);
    EXPECT_EQ(settle->outcomes.size(), expected);
    now_ += core().OnSettleFailed(now_, *settle, slow).retry_in;
  }
}

bool Spares(const ClaimerStep& step) { return std::get<ClaimStep>(step).request.spare_expired; }

TEST_F(CoreTest, LeasesThatRanOutInAnOutageAreLeftToTheirRelaysForAMoment) {
  options_.lease = seconds(9);
  const Status away = Status::Retry(Code::kUnavailable, "away");
  EXPECT_FALSE(Spares(core().NextClaimerStep(now_)));
  const TimePoint since = now_;
  while (now_ < since + seconds(3)) {
    now_ += core().OnClaimFailed(now_, away);
    EXPECT_EQ(Spares(core().NextClaimerStep(now_)), now_ >= since + seconds(3));
  }
  EXPECT_TRUE(Spares(core().NextClaimerStep(now_))) << "the first one that may succeed";
  core().OnClaimed(now_, now_, std::make_unique<FakeClaim>(0));
  const TimePoint back = now_;
  now_ += milliseconds(3900);
  EXPECT_TRUE(Spares(core().NextClaimerStep(now_))) << "a heartbeat and the time to reconnect";
  core().OnClaimed(now_, now_, std::make_unique<FakeClaim>(0));
  now_ = back + seconds(4);
  EXPECT_FALSE(Spares(core().NextClaimerStep(now_)));
}

TEST_F(CoreTest, FailuresNowAndThenDoNotKeepItFromTakingOver) {
  options_.lease = seconds(9);
  const Status away = Status::Retry(Code::kUnavailable, "away");
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(Spares(core().NextClaimerStep(now_)));
    now_ += core().OnClaimFailed(now_, away);
    EXPECT_FALSE(Spares(core().NextClaimerStep(now_)));
    core().OnClaimed(now_, now_, std::make_unique<FakeClaim>(0));
    now_ += seconds(1);
  }
}

TEST_F(CoreTest, DrainedIsAskedOnlyWhenNothingIsHeldAndTheLastLookWasEmpty) {
  const std::uint64_t first = core().WantDrained();
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
  EXPECT_TRUE(core().drained(first));
}

TEST_F(CoreTest, SeveralMayWaitUntilItIsDrained) {
  const std::uint64_t first = core().WantDrained();
  const std::uint64_t second = core().WantDrained();
  core().WantDrainedNoMore();  // the second has no more time
  Claim(0);
  now_ += seconds(1);
  ASSERT_TRUE(std::holds_alternative<CheckDrainedStep>(core().NextClaimerStep(now_)));
  const std::uint64_t third = core().WantDrained();
  core().OnDrainedChecked(now_, true);
  EXPECT_TRUE(core().drained(first));
  EXPECT_TRUE(core().drained(second));
  EXPECT_FALSE(core().drained(third)) << "the look began before it asked";
  core().WantDrainedNoMore();
  Claim(0);
  now_ += seconds(1);
  ASSERT_TRUE(std::holds_alternative<CheckDrainedStep>(core().NextClaimerStep(now_)));
  core().OnDrainedChecked(now_, true);
  EXPECT_TRUE(core().drained(third));
}

TEST_F(CoreTest, HoldsLittleWhenACrashWouldUseUpTheOnlyAttempt) {
  options_.batch_size = 500;
  options_.window = 2000;
  options_.retry.attempts_max = 1;
  sink_traits_ = {.batch_max = 1000, .concurrency = 2};
  Claim(std::get<ClaimStep>(core().NextClaimerStep(now_)).request.limit);
  EXPECT_EQ(core().held_messages(), 64U);
  EXPECT_TRUE(std::holds_alternative<WaitStep>(core().NextClaimerStep(now_)));

  core_.reset();
  store_traits_.leases = false;
  EXPECT_EQ(std::get<ClaimStep>(core().NextClaimerStep(now_)).request.limit, 500U)
      << "a transaction claim counts no attempt that was not made";
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
