// The history of attempts: what is noted, when, for whom; and that nothing is noted unasked.
#pragma once

#include <sstream>

#include "tests/conformance/claim_suite.h"

namespace outbox::conformance {

class AttemptSuite : public StoreSuite {
 protected:
  std::unique_ptr<store::RelayStore> OpenNoting(AttemptHistory history,
                                                const std::string& name = "relay",
                                                ClaimMode mode = ClaimMode::kLease) {
    return OpenRelay({.relay_id = name, .claim_mode = mode, .attempt_history = history});
  }

  std::vector<store::Attempt> Attempts(const Uuid& id,
                                       const store::Scope& scope = store::Scope::All()) {
    const auto inspect = fixture().OpenInspect();
    EXPECT_OK(inspect);
    auto attempts = (*inspect)->Attempts(scope, id, Soon());
    EXPECT_OK(attempts);
    return attempts.ok() ? *attempts : std::vector<store::Attempt>{};
  }

  // "1 relay retry retry busy": everything but the times, one attempt a line.
  std::string History(const Uuid& id) {
    std::ostringstream text;
    for (const store::Attempt& attempt : Attempts(id)) {
      text << attempt.attempt << ' ' << attempt.worker << ' ' << ToString(attempt.result);
      for (const std::string* part : {&attempt.destination, &attempt.error_class, &attempt.error}) {
        if (!part->empty()) text << ' ' << *part;
      }
      text << '\n';
    }
    return text.str();
  }

  static std::vector<store::Outcome> OneOfEach() {
    return {{.index = 0, .kind = Kind::kDelivered},
            {.index = 1,
             .kind = Kind::kRetry,
             .retry_in = 1h,
             .error = "busy",
             .error_class = Disposition::kRetry},
            {.index = 2,
             .kind = Kind::kDead,
             .error = "refused",
             .error_class = Disposition::kPermanent},
            {.index = 3,
             .kind = Kind::kReleased,
             .error = "away",
             .error_class = Disposition::kSinkDown},
            {.index = 4, .kind = Kind::kReleased}};
  }
};

TEST_P(AttemptSuite, NotesEveryOutcomeInEitherKindOfClaim) {
  for (const ClaimMode mode : {ClaimMode::kLease, ClaimMode::kTransaction}) {
    const auto ids = EnqueueNumbered(5);
    const auto relay = OpenNoting(AttemptHistory::kAll, "eu/relay", mode);
    const auto claim = Next(*relay);
    ASSERT_THAT(claim->messages(), SizeIs(5));
    EXPECT_THAT(Settle(*claim, OneOfEach()), IsEmpty());
    EXPECT_EQ(History(ids[0]), "1 eu/relay delivered\n");
    EXPECT_EQ(History(ids[1]), "1 eu/relay retry retry busy\n");
    EXPECT_EQ(History(ids[2]), "1 eu/relay dead permanent refused\n");
    EXPECT_EQ(History(ids[3]), "1 eu/relay released sink_down away\n");
    EXPECT_EQ(History(ids[4]), "1 eu/relay released\n");
    EXPECT_EQ(Row(ids[3]).last_error, "") << "a release leaves the error of the row alone";
    for (const Uuid& id : ids) {
      const auto row = Row(id);
      const store::Attempt attempt = Attempts(id).at(0);
      EXPECT_GE(attempt.started_at, row.message.created_at);
      EXPECT_GE(attempt.ended_at, attempt.started_at);
      EXPECT_LE(attempt.ended_at, row.updated_at + 1ms);
    }
    // Out of the way of the next round.
    SettleAll(*Next(*relay), Kind::kDead);
  }
}

TEST_P(AttemptSuite, NotesOnlyFailuresWhereOnlyThoseAreWanted) {
  const auto ids = EnqueueNumbered(6);
  const auto relay = OpenNoting(AttemptHistory::kFailures);
  const auto claim = Next(*relay, 5);
  EXPECT_THAT(Settle(*claim, OneOfEach()), IsEmpty());
  SettleAll(*Next(*relay), Kind::kDelivered);  // the two released, and the sixth
  EXPECT_EQ(History(ids[0]), "");
  EXPECT_EQ(History(ids[1]), "1 relay retry retry busy\n");
  EXPECT_EQ(History(ids[2]), "1 relay dead permanent refused\n");
  EXPECT_EQ(History(ids[3]), "1 relay released sink_down away\n");
  EXPECT_EQ(History(ids[4]), "");
  EXPECT_EQ(History(ids[5]), "");
}

TEST_P(AttemptSuite, NotesNothingByDefault) {
  const auto ids = EnqueueNumbered(5);
  Settle(*Next(*OpenRelay()), OneOfEach());
  const Uuid cut_off = Enqueue(Event());
  const auto relay = OpenRelay();
  EXPECT_THAT(Next(*relay, 100, 1ms)->messages(), ::testing::Not(IsEmpty()));
  SettleAll(*NextFound(*relay), Kind::kDelivered);
  for (const Uuid& id : ids) EXPECT_EQ(History(id), "");
  EXPECT_EQ(History(cut_off), "");
}

TEST_P(AttemptSuite, AttemptsOfOneMessageFollowEachOther) {
  const Uuid id = Enqueue(Event());
  const auto relay = OpenNoting(AttemptHistory::kAll);
  SettleAll(*Next(*relay), Kind::kRetry);
  SettleAll(*NextFound(*relay), Kind::kRetry);
  SettleAll(*NextFound(*relay), Kind::kDelivered);
  EXPECT_EQ(History(id), "1 relay retry failed\n2 relay retry failed\n3 relay delivered\n");
}

TEST_P(AttemptSuite, AnAttemptThatWasCutOffIsNotedByWhoTakesItOver) {
  const Uuid id = Enqueue(Event());
  const auto first = OpenNoting(AttemptHistory::kFailures, "first");
  const auto second = OpenNoting(AttemptHistory::kFailures, "second");
  const auto stale = Next(*first, 1, 50ms);
  const Timestamp claimed_at = Row(id).updated_at;
  const auto lease_end = Row(id).locked_until;
  const auto taken = NextFound(*second);
  EXPECT_EQ(History(id), "1 first no_outcome\n");
  EXPECT_EQ(Attempts(id).at(0).started_at, claimed_at);
  EXPECT_EQ(Attempts(id).at(0).ended_at, lease_end);
  EXPECT_THAT(SettleAll(*stale, Kind::kDead), ElementsAre(0));
  EXPECT_EQ(History(id), "1 first no_outcome\n") << "what was not settled is not noted";
  SettleAll(*taken, Kind::kRetry);
  EXPECT_EQ(History(id), "1 first no_outcome\n2 second retry failed\n");
}

TEST_P(AttemptSuite, AnAttemptStartsWithItsClaimNotWithItsHeartbeat) {
  const Uuid id = Enqueue(Event());
  const auto relay = OpenNoting(AttemptHistory::kAll);
  const auto claim = Next(*relay);
  const Timestamp claimed_at = Row(id).updated_at;
  const Deadline tick = Deadline::After(5ms);
  ASSERT_TRUE(Eventually([&] { return tick.passed(); }));
  EXPECT_OK(claim->Extend(1min, Soon()));
  SettleAll(*claim, Kind::kDelivered);
  EXPECT_EQ(Attempts(id).at(0).started_at, claimed_at);
  EXPECT_GE(Attempts(id).at(0).ended_at, claimed_at + 5ms);
}

TEST_P(AttemptSuite, TheLastAttemptOfADeadMessageIsNotedWhenItWasCutOff) {
  for (const ClaimMode mode : {ClaimMode::kLease, ClaimMode::kTransaction}) {
    const Uuid id = Enqueue(Event());
    const auto lost = OpenNoting(AttemptHistory::kAll, "lost");
    EXPECT_THAT(Next(*lost, 100, 1ms, 1)->messages(), SizeIs(1));
    const auto relay = OpenNoting(AttemptHistory::kAll, "relay", mode);
    EXPECT_THAT(NextFound(*relay, 1)->exhausted(), SizeIs(1));
    EXPECT_EQ(StatusOf(id), MessageStatus::kDead);
    EXPECT_EQ(History(id), "1 lost no_outcome\n");
  }
}

TEST_P(AttemptSuite, ATransactionClaimNotesTheLeaseItTakesOver) {
  const Uuid id = Enqueue(Event());
  const auto lost = OpenNoting(AttemptHistory::kAll, "lost");
  EXPECT_THAT(Next(*lost, 100, 1ms)->messages(), SizeIs(1));
  const auto relay = OpenNoting(AttemptHistory::kAll, "relay", ClaimMode::kTransaction);
  SettleAll(*NextFound(*relay), Kind::kDelivered);
  EXPECT_EQ(History(id), "1 lost no_outcome\n2 relay delivered\n");
}

TEST_P(AttemptSuite, ADestroyedTransactionClaimLeavesNoTrace) {
  const Uuid id = Enqueue(Event());
  const auto relay = OpenNoting(AttemptHistory::kAll, "relay", ClaimMode::kTransaction);
  Next(*relay).reset();
  EXPECT_EQ(History(id), "");
}

TEST_P(AttemptSuite, OnlyTheNewestAreShown) {
  const Uuid id = Enqueue(Event());
  const auto relay = OpenNoting(AttemptHistory::kAll);
  for (std::size_t i = 0; i < store::kAttemptsShownMax + 5; ++i) {
    ASSERT_THAT(SettleAll(*NextFound(*relay), Kind::kRetry), IsEmpty());
  }
  const auto attempts = Attempts(id);
  ASSERT_THAT(attempts, SizeIs(store::kAttemptsShownMax));
  EXPECT_EQ(attempts.front().attempt, 6);
  EXPECT_EQ(attempts.back().attempt, static_cast<int>(store::kAttemptsShownMax) + 5);
}

TEST_P(AttemptSuite, ATenantSeesItsOwnAttemptsOnly) {
  NewMessage message = Event();
  message.tenant_id = Uuid::NewV7();
  const Uuid id = Enqueue(message);
  const Uuid nobodys = Enqueue(Event());
  SettleAll(*Next(*OpenNoting(AttemptHistory::kAll)), Kind::kDead);
  EXPECT_THAT(Attempts(id, store::Scope::Tenant(*message.tenant_id)), SizeIs(1));
  EXPECT_THAT(Attempts(id, store::Scope::Tenant(Uuid::NewV7())), IsEmpty());
  EXPECT_THAT(Attempts(nobodys, store::Scope::Tenant(*message.tenant_id)), IsEmpty());
  EXPECT_THAT(Attempts(Uuid::NewV7()), IsEmpty());
}

}  // namespace outbox::conformance
