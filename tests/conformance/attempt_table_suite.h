// The attempts of a database's table: they go with their messages, and deliveries have theirs.
#pragma once

#include "message/routes.h"
#include "tests/conformance/attempt_suite.h"

namespace outbox::conformance {

class AttemptTableSuite : public AttemptSuite {
 protected:
  // How many attempts are stored, of whatever message. Read behind the store's back.
  std::size_t Stored() {
    std::size_t count = 0;
    while (Exists(count)) ++count;
    return count;
  }

 private:
  // Whether there is an attempt after the first `skipped`: the statement fails where there is.
  bool Exists(std::size_t skipped) {
    auto session = fixture().backend()->OpenSession(Soon());
    EXPECT_OK(session);
    const std::string attempts = fixture().table() + "_attempt";
    EXPECT_OK((*session)->Begin());
    const bool postgres = fixture().backend()->dialect() == Dialect::kPostgres;
    const std::string rows =
        "(SELECT seq FROM " + attempts + " LIMIT 1 OFFSET " + std::to_string(skipped) + ")";
    // Adds nothing, or a row that breaks the rule that no column is null.
    const Status added = (*session)->Execute("INSERT INTO " + attempts + " (seq) SELECT seq FROM " +
                                             rows + (postgres ? " AS r" : ""));
    (*session)->Rollback();
    return !added.ok();
  }
};

TEST_P(AttemptTableSuite, AttemptsGoWithTheirMessage) {
  const auto clean = fixture().backend()->OpenClean(fixture().table(), Soon());
  const auto inspect = fixture().OpenInspect();
  ASSERT_OK(clean);
  ASSERT_OK(inspect);
  const auto relay = OpenNoting(AttemptHistory::kAll);
  const auto ids = EnqueueNumbered(5);
  Settle(*Next(*relay), {{.index = 0, .kind = Kind::kDelivered},
                         {.index = 1, .kind = Kind::kDead, .error = "x"},
                         {.index = 2, .kind = Kind::kDead, .error = "x"},
                         {.index = 3, .kind = Kind::kDead, .error = "x"},
                         {.index = 4, .kind = Kind::kRetry, .retry_in = 1h, .error = "x"}});
  EXPECT_EQ(Stored(), 5U);
  ASSERT_TRUE(Eventually([&] { return *(*clean)->PurgeDelivered(0ms, 10, Soon()) == 1; }));
  EXPECT_EQ(Stored(), 4U);
  EXPECT_OK((*inspect)->DeleteOne(store::Scope::All(), ids[1], nullptr, Soon()));
  EXPECT_EQ(Stored(), 3U);
  EXPECT_OK((*inspect)->Delete(store::Scope::All(), {.ids = {ids[2]}}, false, 10, Soon()));
  EXPECT_EQ(Stored(), 2U);
  ASSERT_TRUE(Eventually([&] { return *(*clean)->PurgeDead(0ms, 10, Soon()) == 1; }));
  EXPECT_EQ(History(ids[4]), "1 relay retry x\n") << "the one that is left";
  EXPECT_EQ(Stored(), 1U);
  const store::RepairFilter failed{.status = store::ListStatus::kFailed};
  EXPECT_OK((*inspect)->Delete(store::Scope::All(), {.filter = failed}, false, 10, Soon()));
  EXPECT_EQ(Stored(), 0U);
}

TEST_P(AttemptTableSuite, WithoutRetentionTheHistoryEndsWithTheAck) {
  for (const ClaimMode mode : {ClaimMode::kLease, ClaimMode::kTransaction}) {
    EnqueueNumbered(2);
    const auto relay = OpenRelay(
        {.claim_mode = mode, .keep_delivered = false, .attempt_history = AttemptHistory::kAll});
    SettleAll(*Next(*relay), Kind::kRetry);
    EXPECT_EQ(Stored(), 2U);
    const auto again = NextFound(*relay);
    ASSERT_THAT(again->messages(), SizeIs(2));
    SettleAll(*again, Kind::kDelivered);
    EXPECT_EQ(Stored(), 0U);
  }
  // The same when one of the two fails again.
  EnqueueNumbered(2);
  const auto relay =
      OpenRelay({.keep_delivered = false, .attempt_history = AttemptHistory::kFailures});
  SettleAll(*Next(*relay), Kind::kRetry);
  Settle(*NextFound(*relay),
         {{.index = 0, .kind = Kind::kDelivered}, {.index = 1, .kind = Kind::kDead, .error = "x"}});
  EXPECT_EQ(Stored(), 2U);
}

TEST_P(AttemptTableSuite, TheCleanerRemovesWhatIsLeftOver) {
  EnqueueNumbered(3);
  SettleAll(*Next(*OpenNoting(AttemptHistory::kFailures)), Kind::kRetry);
  // History is off now: nobody looks for attempts as messages are deleted.
  const auto relay = OpenRelay({.keep_delivered = false});
  const auto claim = NextFound(*relay);
  ASSERT_THAT(claim->messages(), SizeIs(3));
  Settle(*claim, {{.index = 0, .kind = Kind::kDelivered},
                  {.index = 1, .kind = Kind::kDelivered},
                  {.index = 2, .kind = Kind::kDead, .error = "x"}});
  const auto clean = fixture().backend()->OpenClean(fixture().table(), Soon());
  ASSERT_OK(clean);
  // Two at a time, and round again.
  for (int i = 0; i < 4; ++i) EXPECT_OK((*clean)->PurgeAttempts(2, Soon()));
  EXPECT_EQ(Stored(), 1U);
}

TEST_P(AttemptTableSuite, DeliveriesAreNotedByDestination) {
  const Uuid id = Enqueue(Event());
  const auto splitter = fixture().backend()->OpenSplit({.table = fixture().table()}, Soon());
  ASSERT_OK(splitter);
  const message::Routes routes({{.topics = "#", .destinations = {"rabbit", "hook"}}});
  ASSERT_OK((*splitter)->Split(routes, {.limit = 10}, Soon()));
  const auto open = [&](const std::string& destination) {
    return OpenRelay({.relay_id = "to-" + destination,
                      .destination = destination,
                      .attempt_history = AttemptHistory::kAll});
  };
  const auto hook = open("hook");
  EXPECT_THAT(Next(*hook, 10, 1ms)->messages(), SizeIs(1));
  SettleAll(*NextFound(*hook), Kind::kRetry);
  SettleAll(*NextFound(*hook), Kind::kDelivered);
  SettleAll(*Next(*open("rabbit")), Kind::kDelivered);
  EXPECT_EQ(StatusOf(id), MessageStatus::kDelivered);
  EXPECT_EQ(History(id),
            "1 to-hook no_outcome hook\n2 to-hook retry hook failed\n"
            "3 to-hook delivered hook\n1 to-rabbit delivered rabbit\n");
}

TEST_P(AttemptTableSuite, WithoutRetentionDeliveriesTakeTheirHistoryAlong) {
  Enqueue(Event());
  const auto splitter =
      fixture().backend()->OpenSplit({.table = fixture().table(), .keep_delivered = false}, Soon());
  ASSERT_OK(splitter);
  const message::Routes routes({{.topics = "#", .destinations = {"rabbit", "hook"}}});
  ASSERT_OK((*splitter)->Split(routes, {.limit = 10}, Soon()));
  for (const char* destination : {"rabbit", "hook"}) {
    const auto relay = OpenRelay({.destination = destination,
                                  .keep_delivered = false,
                                  .attempt_history = AttemptHistory::kAll});
    SettleAll(*Next(*relay), Kind::kRetry);
    EXPECT_GE(Stored(), 1U);
    SettleAll(*NextFound(*relay), Kind::kDelivered);
  }
  EXPECT_EQ(Stored(), 0U);
}

}  // namespace outbox::conformance
