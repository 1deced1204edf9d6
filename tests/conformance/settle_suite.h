// Settling: what becomes of a claim's messages, and who may say so.
#pragma once

#include "tests/conformance/claim_suite.h"

namespace outbox::conformance {

class SettleSuite : public StoreSuite {};

TEST_P(SettleSuite, RecordsMixedOutcomesInOneCall) {
  const auto ids = EnqueueNumbered(4);
  const auto relay = OpenRelay();
  const auto claim = Next(*relay);
  EXPECT_THAT(Settle(*claim, {{.index = 0, .kind = Kind::kDelivered},
                              {.index = 1, .kind = Kind::kRetry, .retry_in = 1h, .error = "busy"},
                              {.index = 2, .kind = Kind::kDead, .error = "refused"},
                              {.index = 3, .kind = Kind::kReleased}}),
              IsEmpty());

  const auto delivered = Row(ids[0]);
  EXPECT_EQ(delivered.status, MessageStatus::kDelivered);
  EXPECT_TRUE(delivered.processed_at.has_value());
  EXPECT_EQ(delivered.message.attempt, 1);
  const auto retried = Row(ids[1]);
  EXPECT_EQ(retried.status, MessageStatus::kPending);
  EXPECT_EQ(retried.last_error, "busy");
  EXPECT_EQ(retried.message.attempt, 1);
  EXPECT_GT(retried.message.available_at, retried.updated_at + 59min);
  const auto dead = Row(ids[2]);
  EXPECT_EQ(dead.status, MessageStatus::kDead);
  EXPECT_EQ(dead.last_error, "refused");
  EXPECT_FALSE(dead.processed_at.has_value());
  const auto released = Row(ids[3]);
  EXPECT_EQ(released.status, MessageStatus::kPending);
  EXPECT_EQ(released.message.attempt, 0);
  for (const Uuid& id : ids) {
    EXPECT_EQ(Row(id).locked_by, "");
    EXPECT_FALSE(Row(id).locked_until.has_value());
  }
}

TEST_P(SettleSuite, AMessageMayBeSettledInParts) {
  const auto ids = EnqueueNumbered(3);
  const auto relay = OpenRelay();
  const auto claim = Next(*relay);
  EXPECT_THAT(Settle(*claim, {{.index = 2, .kind = Kind::kDelivered}}), IsEmpty());
  EXPECT_EQ(StatusOf(ids[2]), MessageStatus::kDelivered);
  EXPECT_EQ(StatusOf(ids[0]), MessageStatus::kProcessing);
  EXPECT_THAT(Settle(*claim, {{.index = 0, .kind = Kind::kDelivered},
                              {.index = 1, .kind = Kind::kDelivered}}),
              IsEmpty());
  EXPECT_EQ(StatusOf(ids[0]), MessageStatus::kDelivered);
}

TEST_P(SettleSuite, AReleasedMessageIsClaimedAgainAtOnceAndItsAttemptRefunded) {
  EnqueueNumbered(1);
  const auto relay = OpenRelay();
  SettleAll(*Next(*relay), Kind::kReleased);
  const auto again = Next(*relay);
  ASSERT_THAT(again->messages(), SizeIs(1));
  EXPECT_EQ(again->messages()[0].attempt, 1);
}

TEST_P(SettleSuite, APostponedMessageWaitsForItsTimeAndItsAttemptIsRefunded) {
  const Uuid id = Enqueue(Event());
  for (const auto& relay : {OpenRelay(), OpenTransactionRelay()}) {
    const auto claim = NextFound(*relay);
    EXPECT_EQ(claim->messages()[0].attempt, 1);
    Settle(*claim,
           {{.index = 0, .kind = Kind::kReleased, .retry_in = 500ms, .error = "no leader"}});
    EXPECT_EQ(Row(id).message.attempt, 0);
    EXPECT_EQ(Row(id).status, MessageStatus::kPending);
    EXPECT_EQ(Row(id).last_error, "no leader");
    EXPECT_GE(Row(id).message.available_at, Row(id).updated_at + 500ms);
  }
}

TEST_P(SettleSuite, ARetryWaitsForItsTime) {
  const Uuid id = Enqueue(Event());
  const auto relay = OpenRelay();
  Settle(*Next(*relay), {{.index = 0, .kind = Kind::kRetry, .retry_in = 500ms, .error = "x"}});
  const Timestamp failed_at = Row(id).updated_at;
  const auto again = NextFound(*relay);
  EXPECT_GE(Row(id).updated_at, failed_at + 500ms);
  EXPECT_EQ(again->messages()[0].attempt, 2);
  SettleAll(*again, Kind::kDelivered);
  EXPECT_EQ(Row(id).last_error, "") << "a delivered message has no error";
}

// A destination chooses the text of its errors, so that a relay may not believe it.
TEST_P(SettleSuite, AnErrorThatReadsLikeACutOffAttemptPutsNothingInDoubt) {
  for (const auto& relay : {OpenRelay(), OpenTransactionRelay()}) {
    Enqueue(Event());
    const auto claim = NextFound(*relay);
    EXPECT_FALSE(claim->messages()[0].in_doubt);
    Settle(*claim, {{.index = 0,
                     .kind = Kind::kRetry,
                     .error = "no outcome: attempt 1 was cut off (its relay crashed)"}});
    const auto again = NextFound(*relay);
    EXPECT_FALSE(again->messages()[0].in_doubt);
    EXPECT_FALSE(again->any_in_doubt());
    SettleAll(*again, Kind::kDelivered);
  }
}

TEST_P(SettleSuite, DoubtLastsUntilTheNextOutcome) {
  const Uuid id = Enqueue(Event());
  const auto relay = OpenRelay();
  { const auto cut_off = Next(*relay, 1, 1ms); }
  const auto in_doubt = NextFound(*relay);
  EXPECT_TRUE(in_doubt->messages()[0].in_doubt);
  SettleAll(*in_doubt, Kind::kReleased);
  const auto released = NextFound(*relay);
  EXPECT_TRUE(released->messages()[0].in_doubt) << "released without an outcome";
  Settle(*released, {{.index = 0, .kind = Kind::kRetry, .error = "busy"}});
  const auto retried = NextFound(*relay);
  EXPECT_FALSE(retried->messages()[0].in_doubt);
  EXPECT_EQ(Row(id).last_error, "busy");
}

TEST_P(SettleSuite, DeadMessagesAreNeverClaimed) {
  EnqueueNumbered(1);
  const auto relay = OpenRelay();
  SettleAll(*Next(*relay), Kind::kDead);
  EXPECT_THAT(Next(*relay)->messages(), IsEmpty());
}

TEST_P(SettleSuite, DeliveredMessagesAreDeletedWhenNotKept) {
  const Uuid id = Enqueue(Event());
  const auto relay = OpenRelay({.keep_delivered = false});
  EXPECT_THAT(SettleAll(*Next(*relay), Kind::kDelivered), IsEmpty());
  EXPECT_FALSE(fixture().Find(id).has_value());
}

TEST_P(SettleSuite, MixedOutcomesAreRecordedWhenDeliveredIsNotKept) {
  const auto ids = EnqueueNumbered(3);
  const auto relay = OpenRelay({.keep_delivered = false});
  const auto claim = Next(*relay);
  EXPECT_THAT(Settle(*claim, {{.index = 0, .kind = Kind::kDelivered},
                              {.index = 1, .kind = Kind::kDead, .error = "refused"},
                              {.index = 2, .kind = Kind::kReleased}}),
              IsEmpty());
  EXPECT_FALSE(fixture().Find(ids[0]).has_value());
  EXPECT_EQ(StatusOf(ids[1]), MessageStatus::kDead);
  EXPECT_EQ(StatusOf(ids[2]), MessageStatus::kPending);
}

TEST_P(SettleSuite, SettlingTwiceReportsLostAndChangesNothing) {
  const auto ids = EnqueueNumbered(2);
  const auto relay = OpenRelay();
  const auto claim = Next(*relay);
  const std::vector<store::Outcome> outcomes = {
      {.index = 0, .kind = Kind::kDelivered},
      {.index = 1, .kind = Kind::kRetry, .retry_in = 1h, .error = "first"}};
  EXPECT_THAT(Settle(*claim, outcomes), IsEmpty());
  const auto before = Row(ids[1]);
  EXPECT_THAT(Settle(*claim, outcomes), ElementsAre(0, 1));
  EXPECT_EQ(StatusOf(ids[0]), MessageStatus::kDelivered);
  EXPECT_EQ(Row(ids[1]).message.available_at, before.message.available_at);
  EXPECT_EQ(Row(ids[1]).updated_at, before.updated_at);
}

TEST_P(SettleSuite, AStaleSettleAfterReclaimIsLostAndChangesNothing) {
  const auto ids = EnqueueNumbered(2);
  const auto slow = OpenRelay({.relay_id = "slow"});
  const auto other = OpenRelay({.relay_id = "other"});
  const auto stale = Next(*slow, 2, 300ms);
  std::vector<std::unique_ptr<store::Claim>> taken;
  std::size_t count = 0;
  ASSERT_TRUE(Eventually([&] {
    taken.push_back(Next(*other));
    count += taken.back()->messages().size();
    return count == 2;
  }));
  EXPECT_THAT(SettleAll(*stale, Kind::kDead), ElementsAre(0, 1));
  EXPECT_EQ(StatusOf(ids[0]), MessageStatus::kProcessing);
  EXPECT_THAT(Row(ids[0]).locked_by, ::testing::StartsWith("other/"));
  for (const auto& claim : taken) EXPECT_THAT(SettleAll(*claim, Kind::kDelivered), IsEmpty());
  EXPECT_THAT(SettleAll(*stale, Kind::kDead), ElementsAre(0, 1));
  EXPECT_EQ(StatusOf(ids[1]), MessageStatus::kDelivered) << "delivered never leaves";
}

TEST_P(SettleSuite, AReclaimByTheSameRelayIsFencedToo) {
  EnqueueNumbered(1);
  const auto relay = OpenRelay({.relay_id = "same"});
  const auto stale = Next(*relay, 1, 200ms);
  const auto taken = NextFound(*relay);
  EXPECT_THAT(SettleAll(*stale, Kind::kDelivered), ElementsAre(0));
  EXPECT_THAT(SettleAll(*taken, Kind::kDelivered), IsEmpty());
}

TEST_P(SettleSuite, ATransactionClaimIsSettledLikeAnyOther) {
  const auto ids = EnqueueNumbered(4);
  const auto relay = OpenTransactionRelay();
  EXPECT_FALSE(relay->traits().leases);
  const auto claim = Next(*relay);
  ASSERT_THAT(claim->messages(), SizeIs(4));
  EXPECT_EQ(claim->messages()[0].attempt, 1);
  EXPECT_OK(claim->Extend(1s, Soon()));
  EXPECT_THAT(Settle(*claim, {{.index = 0, .kind = Kind::kDelivered}}), IsEmpty());
  EXPECT_THAT(Settle(*claim, {{.index = 1, .kind = Kind::kRetry, .retry_in = 1h, .error = "busy"},
                              {.index = 2, .kind = Kind::kDead, .error = "refused"},
                              {.index = 3, .kind = Kind::kReleased}}),
              IsEmpty());
  EXPECT_EQ(StatusOf(ids[0]), MessageStatus::kDelivered);
  EXPECT_EQ(Row(ids[0]).message.attempt, 1);
  EXPECT_EQ(StatusOf(ids[1]), MessageStatus::kPending);
  EXPECT_EQ(Row(ids[1]).message.attempt, 1);
  EXPECT_EQ(StatusOf(ids[2]), MessageStatus::kDead);
  EXPECT_EQ(StatusOf(ids[3]), MessageStatus::kPending);
  EXPECT_EQ(Row(ids[3]).message.attempt, 0);
}

TEST_P(SettleSuite, ADestroyedTransactionClaimIsFreeAtOnceAndCostsNoAttempt) {
  EnqueueNumbered(3);
  const auto relay = OpenTransactionRelay();
  { EXPECT_THAT(Next(*relay)->messages(), SizeIs(3)); }
  const auto other = OpenTransactionRelay();
  const auto again = Next(*other);
  ASSERT_THAT(again->messages(), SizeIs(3));
  EXPECT_EQ(again->messages()[0].attempt, 1);
}

TEST_P(SettleSuite, ATransactionRelayNeverClaimsWhatItHolds) {
  EnqueueNumbered(2);
  const auto relay = OpenTransactionRelay();
  const auto held = Next(*relay, 1);
  const auto next = Next(*relay, 10);
  for (const Message& message : next->messages()) {
    EXPECT_NE(message.id, held->messages()[0].id);
  }
}

TEST_P(SettleSuite, ATransactionClaimBuriesUsedUpAttemptsOnce) {
  const auto ids = EnqueueNumbered(2);
  const auto leases = OpenRelay();
  Settle(*Next(*leases, 1), {{.index = 0, .kind = Kind::kRetry, .error = "x"}});
  const auto relay = OpenTransactionRelay();
  std::size_t buried = 0;
  EXPECT_TRUE(Eventually([&] {
    buried += Next(*relay, 10, 0s, 1)->exhausted().size();
    return buried > 0;
  }));
  EXPECT_TRUE(Eventually([&] { return StatusOf(ids[0]) == MessageStatus::kDead; }));
  EXPECT_EQ(StatusOf(ids[1]), MessageStatus::kPending);
  EXPECT_THAT(Next(*relay, 10, 0s, 1)->exhausted(), IsEmpty());
}

}  // namespace outbox::conformance
