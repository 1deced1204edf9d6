// Messages that go to one destination: leased in their own rows for the relay that asks, split into
// deliveries otherwise.
#pragma once

#include "tests/conformance/split_suite.h"

namespace outbox::conformance {

class LaneSuite : public SplitSuite {
 protected:
  static message::Routes ToHook(bool ordered = false) {
    std::vector<message::Route> routes{
        {.topics = "#", .destinations = {"hook"}, .ordered = ordered}};
    return message::Routes(std::move(routes));
  }

  // A splitter with a lane for each of two sinks.
  std::unique_ptr<store::SplitStore> OpenWithLanes(bool keep = true,
                                                   AttemptHistory history = AttemptHistory::kOff,
                                                   Completion completion = Completion::kAll) {
    store::SplitOptions options{
        .completion = completion, .keep_delivered = keep, .attempt_history = history};
    for (const char* destination : {"hook", "rabbit"}) {
      options.lanes.push_back({.table = fixture().table(),
                               .relay_id = std::string("to-") + destination,
                               .destination = destination,
                               .completion = completion,
                               .keep_delivered = keep,
                               .attempt_history = history});
    }
    return OpenSplit(options);
  }

  static store::LaneRequest Asks(const std::string& destination, std::size_t limit = 1000,
                                 std::chrono::milliseconds lease = 60s,
                                 std::optional<int> attempts_max = {}) {
    return {.destination = destination,
            .claim = {.limit = limit, .lease = lease, .attempts_max = attempts_max}};
  }

  static store::SplitReport SplitFor(store::SplitStore& store, const message::Routes& routes,
                                     std::vector<store::LaneRequest> lanes,
                                     std::size_t limit = 1000) {
    auto report = store.Split(routes, {.limit = limit, .lanes = std::move(lanes)}, Soon());
    EXPECT_OK(report);
    return report.ok() ? *std::move(report) : store::SplitReport{};
  }

  // Waits until something is leased or dies; returns that one claim.
  static std::unique_ptr<store::Claim> Lease(store::SplitStore& store, store::LaneRequest lane) {
    std::unique_ptr<store::Claim> claim;
    EXPECT_TRUE(Eventually([&] {
      store::SplitReport report = SplitFor(store, ToHook(), {lane});
      EXPECT_EQ(report.messages, 0u);
      if (!report.claims.empty()) claim = std::move(report.claims[0].claim);
      return claim != nullptr;
    }));
    return claim;
  }

  // "1 worker retry destination\n2 …"
  std::string History(const Uuid& id) {
    const auto inspect = fixture().OpenInspect();
    EXPECT_OK(inspect);
    const auto attempts = (*inspect)->Attempts(store::Scope::All(), id, Soon());
    EXPECT_OK(attempts);
    std::string history;
    for (const store::Attempt& attempt : *attempts) {
      history += std::to_string(attempt.attempt) + " " + attempt.worker + " " +
                 std::string(ToString(attempt.result)) + " " + attempt.destination + "\n";
    }
    return history;
  }
};

TEST_P(LaneSuite, AMessageWithOneDestinationKeepsItsStateInItsOwnRow) {
  NewMessage sent = Keyed(R"({"text" :  "Grüße"})");
  sent.headers = {{"a", "1"}};
  const Uuid id = Enqueue(sent);
  const auto splitter = OpenWithLanes();
  store::SplitReport report = SplitFor(*splitter, ToHook(), {Asks("hook"), Asks("rabbit")});
  EXPECT_EQ(report.found, 1u);
  EXPECT_EQ(report.messages, 0u) << "nothing was split";
  EXPECT_EQ(report.deliveries, 0u);
  ASSERT_THAT(report.claims, SizeIs(1));
  EXPECT_EQ(report.claims[0].destination, "hook");
  store::Claim& claim = *report.claims[0].claim;
  ASSERT_EQ(claim.size(), 1u);
  const Message& got = claim.messages()[0];
  EXPECT_EQ(got.id, id);
  EXPECT_EQ(got.payload, sent.payload);
  EXPECT_EQ(got.Header("a"), "1");
  EXPECT_EQ(got.attempt, 1);
  EXPECT_EQ(StatusOf(id), MessageStatus::kProcessing);
  EXPECT_THAT(Row(id).locked_by, HasSubstr("to-hook/"));
  EXPECT_THAT(SplitFor(*splitter, ToHook(), {Asks("hook")}).claims, IsEmpty()) << "it is leased";
  EXPECT_THAT(SettleAll(claim, Kind::kDelivered), IsEmpty());
  EXPECT_EQ(StatusOf(id), MessageStatus::kDelivered);
  EXPECT_THAT(Row(id).deliveries, IsEmpty());
}

TEST_P(LaneSuite, OthersBecomeDeliveriesInTheSameTransaction) {
  NewMessage both = Event("0"), away = Event("1"), hook = Event("2"), nowhere = Event("3");
  both.topic = "a.b.both.v1";
  away.topic = "a.b.away.v1";
  hook.topic = "a.b.hook.v1";
  nowhere.topic = "a.b.nowhere.v1";
  fixture().Enqueue({both, away, hook, nowhere});
  const message::Routes routes({{.topics = "a.b.both.*", .destinations = {"hook", "rabbit"}},
                                {.topics = "a.b.away.*", .destinations = {"rabbit"}},
                                {.topics = "a.b.hook.*", .destinations = {"hook"}}});
  const auto splitter = OpenWithLanes();
  const store::SplitReport report = SplitFor(*splitter, routes, {Asks("hook")});
  EXPECT_EQ(report.found, 4u);
  EXPECT_EQ(report.messages, 3u);
  EXPECT_EQ(report.deliveries, 3u);
  EXPECT_EQ(report.unrouted, 1u);
  ASSERT_THAT(report.claims, SizeIs(1));
  EXPECT_THAT(Payloads(report.claims[0].claim->messages()), ElementsAre("2"));
  EXPECT_THAT(Deliver(*OpenFor("hook")), ElementsAre("0"));
  EXPECT_THAT(Deliver(*OpenFor("rabbit")), ElementsAre("0", "1"));
}

TEST_P(LaneSuite, NoMoreIsLeasedThanALaneAsksForAndTheRestIsLeftAlone) {
  const auto ids = EnqueueNumbered(5);
  const auto splitter = OpenWithLanes();
  store::SplitReport report = SplitFor(*splitter, ToHook(), {Asks("hook", 2)});
  EXPECT_EQ(report.left_alone, 3u);
  ASSERT_THAT(report.claims, SizeIs(1));
  EXPECT_THAT(Payloads(report.claims[0].claim->messages()), ElementsAre("0", "1"));
  const store::SplitReport waits = SplitFor(*splitter, ToHook(), {Asks("hook", 0)});
  EXPECT_EQ(waits.left_alone, 3u);
  EXPECT_EQ(waits.messages, 0u);
  EXPECT_EQ(StatusOf(ids[2]), MessageStatus::kPending);
  // What was left alone is found at once, also with a batch that was full.
  report = SplitFor(*splitter, ToHook(), {Asks("hook")}, 2);
  ASSERT_THAT(report.claims, SizeIs(1));
  EXPECT_THAT(Payloads(report.claims[0].claim->messages()), ElementsAre("2", "3"));
  // Nobody asks any more.
  EXPECT_EQ(SplitFor(*splitter, ToHook(), {}).deliveries, 1u);
  EXPECT_THAT(Deliver(*OpenFor("hook")), ElementsAre("4"));
}

TEST_P(LaneSuite, WhatIsInTheWayOfOthersBecomesDeliveries) {
  EnqueueNumbered(4);
  const auto splitter = OpenWithLanes();
  store::LaneRequest asks = Asks("hook", 1);
  asks.spills = true;
  const store::SplitReport report = SplitFor(*splitter, ToHook(), {asks});
  EXPECT_EQ(report.left_alone, 0u);
  EXPECT_EQ(report.deliveries, 3u);
  ASSERT_THAT(report.claims, SizeIs(1));
  EXPECT_THAT(Payloads(report.claims[0].claim->messages()), ElementsAre("0"));
  EXPECT_THAT(Deliver(*OpenFor("hook")), ElementsAre("1", "2", "3"));
}

TEST_P(LaneSuite, OrderedRoutesUseDeliveries) {
  fixture().Enqueue({Keyed("0"), Keyed("1"), Keyed("2", "")});
  const auto splitter = OpenWithLanes();
  const store::SplitReport report = SplitFor(*splitter, ToHook(true), {Asks("hook")});
  EXPECT_EQ(report.deliveries, 2u);
  ASSERT_THAT(report.claims, SizeIs(1));
  EXPECT_THAT(Payloads(report.claims[0].claim->messages()), ElementsAre("2")) << "it has no key";
  const auto hook = OpenFor("hook");
  EXPECT_THAT(Deliver(*hook), ElementsAre("0"));
  EXPECT_THAT(Deliver(*hook), ElementsAre("1"));
}

TEST_P(LaneSuite, ARetriedMessageIsLeasedAgainInItsOwnRow) {
  const Uuid id = Enqueue(Event());
  const auto splitter = OpenWithLanes();
  SettleAll(*Lease(*splitter, Asks("hook")), Kind::kRetry);
  EXPECT_EQ(Row(id).last_error, "failed");
  const auto again = Lease(*splitter, Asks("hook"));
  EXPECT_EQ(again->messages()[0].attempt, 2);
  EXPECT_FALSE(again->any_in_doubt());
  SettleAll(*again, Kind::kReleased);
  EXPECT_EQ(Lease(*splitter, Asks("hook"))->messages()[0].attempt, 2) << "released: not counted";
}

TEST_P(LaneSuite, AttemptsAndErrorCarryOverToTheDelivery) {
  const Uuid id = Enqueue(Event());
  const auto splitter = OpenWithLanes();
  SettleAll(*Lease(*splitter, Asks("hook")), Kind::kRetry);
  ASSERT_TRUE(Eventually([&] { return SplitFor(*splitter, ToHook(), {}).deliveries == 1; }));
  const auto deliveries = Row(id).deliveries;
  ASSERT_THAT(deliveries, SizeIs(1));
  EXPECT_EQ(deliveries[0].attempts, 1);
  EXPECT_EQ(deliveries[0].last_error, "failed");
  const auto claim = Next(*OpenFor("hook"));
  ASSERT_THAT(claim->messages(), SizeIs(1));
  EXPECT_EQ(claim->messages()[0].attempt, 2);
  SettleAll(*claim, Kind::kDelivered);
  EXPECT_EQ(StatusOf(id), MessageStatus::kDelivered);
}

TEST_P(LaneSuite, AnAttemptThatWasCutOffIsInDoubtAlsoAsADelivery) {
  Enqueue(Event());
  const auto splitter = OpenWithLanes();
  EXPECT_EQ(Lease(*splitter, Asks("hook", 10, 1ms))->size(), 1u);
  const auto again = Lease(*splitter, Asks("hook", 10, 1ms));
  EXPECT_TRUE(again->any_in_doubt());
  EXPECT_EQ(again->messages()[0].attempt, 2);
  ASSERT_TRUE(Eventually([&] { return SplitFor(*splitter, ToHook(), {}).deliveries == 1; }));
  const auto delivery = Next(*OpenFor("hook"));
  ASSERT_THAT(delivery->messages(), SizeIs(1));
  EXPECT_TRUE(delivery->messages()[0].in_doubt);
  EXPECT_EQ(delivery->messages()[0].attempt, 3);
}

TEST_P(LaneSuite, AMessageThatHasDeliveriesGoesToNoSinkThatHasItAlready) {
  const Uuid id = Enqueue(Event());
  const auto splitter = OpenWithLanes();
  EXPECT_EQ(SplitFor(*splitter, ToBoth(), {Asks("hook"), Asks("rabbit")}).deliveries, 2u);
  const auto rabbit = OpenFor("rabbit");
  const auto hook = OpenFor("hook");
  EXPECT_THAT(Deliver(*hook), SizeIs(1));
  EXPECT_THAT(Deliver(*rabbit, Kind::kDead), SizeIs(1));
  const auto inspect = fixture().backend()->OpenInspect(fixture().table(), Soon());
  ASSERT_OK(inspect);
  EXPECT_EQ((*inspect)->Retry(store::Scope::All(), {.ids = {id}}, false, 10, Soon()).value(), 1u);
  // Only the hook is left of the routes, and it has the message.
  const store::SplitReport report = SplitFor(*splitter, ToHook(), {Asks("hook")});
  EXPECT_THAT(report.claims, IsEmpty());
  EXPECT_EQ(report.messages, 1u);
  EXPECT_THAT(Deliver(*hook), IsEmpty());
}

TEST_P(LaneSuite, ExhaustedMessagesDieOnce) {
  const Uuid id = Enqueue(Event());
  const auto splitter = OpenWithLanes();
  EXPECT_EQ(Lease(*splitter, Asks("hook", 10, 1ms, 1))->size(), 1u);
  const auto claim = Lease(*splitter, Asks("hook", 10, 60s, 1));
  EXPECT_EQ(claim->size(), 0u);
  ASSERT_THAT(claim->exhausted(), SizeIs(1));
  EXPECT_EQ(claim->exhausted()[0].id, id);
  EXPECT_EQ(StatusOf(id), MessageStatus::kDead);
  EXPECT_EQ(Row(id).message.attempt, 1);
  EXPECT_THAT(Row(id).last_error, HasSubstr("gave up after 1 attempts"));
  EXPECT_EQ(SplitFor(*splitter, ToHook(), {Asks("hook", 10, 60s, 1)}).found, 0u);
}

TEST_P(LaneSuite, AStaleRelayCanNotSettleAMessageThatWasTakenOver) {
  const Uuid id = Enqueue(Event());
  const auto first = OpenWithLanes();
  const auto second = OpenWithLanes();
  const auto stale = Lease(*first, Asks("hook", 10, 1ms));
  const auto fresh = Lease(*second, Asks("hook"));
  EXPECT_THAT(SettleAll(*stale, Kind::kDead), ElementsAre(0u));
  EXPECT_THAT(stale->Extend(60s, Soon()).value(), IsEmpty()) << "it has none left";
  EXPECT_THAT(SettleAll(*fresh, Kind::kDelivered), IsEmpty());
  EXPECT_EQ(StatusOf(id), MessageStatus::kDelivered);

  // Nor one that has become a delivery.
  Enqueue(Event());
  const auto late = Lease(*first, Asks("hook", 10, 1ms));
  ASSERT_TRUE(Eventually([&] { return SplitFor(*second, ToHook(), {}).deliveries == 1; }));
  EXPECT_THAT(SettleAll(*late, Kind::kDelivered), ElementsAre(0u));
  EXPECT_THAT(Deliver(*OpenFor("hook")), SizeIs(1));
}

TEST_P(LaneSuite, ALeaseIsExtended) {
  EnqueueNumbered(2);
  const auto splitter = OpenWithLanes();
  const auto claim = Lease(*splitter, Asks("hook", 1));
  const auto lapsing = Lease(*splitter, Asks("hook", 1));
  ASSERT_OK(claim->Extend(200ms, Soon()));
  EXPECT_THAT(claim->Extend(60s, Soon()).value(), IsEmpty());
  // The lease that ends after the first end of the other shows that this has passed.
  ASSERT_OK(lapsing->Extend(300ms, Soon()));
  EXPECT_THAT(Payloads(Lease(*splitter, Asks("hook"))->messages()), ElementsAre("1"));
  EXPECT_THAT(SettleAll(*claim, Kind::kDelivered), IsEmpty());
}

TEST_P(LaneSuite, SplittersOfSeveralProcessesLeaseEachMessageOnce) {
  EnqueueNumbered(300);
  std::vector<std::thread> threads;
  std::atomic<std::size_t> leased = 0;
  std::mutex mutex;
  std::set<std::string> payloads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto splitter = OpenWithLanes();
      while (leased < 300) {
        const store::SplitReport report = SplitFor(*splitter, ToHook(), {Asks("hook", 17)}, 17);
        for (const store::LaneClaim& left : report.claims) {
          leased += left.claim->size();
          const std::lock_guard lock(mutex);
          for (const std::string& payload : Payloads(left.claim->messages())) {
            EXPECT_TRUE(payloads.insert(payload).second) << payload;
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(leased, 300u);
  EXPECT_THAT(payloads, SizeIs(300));
}

TEST_P(LaneSuite, WithoutRetentionADeliveredMessageIsGone) {
  const Uuid id = Enqueue(Event());
  const auto splitter = OpenWithLanes(false);
  SettleAll(*Lease(*splitter, Asks("hook")), Kind::kDelivered);
  EXPECT_FALSE(fixture().Find(id).has_value());
}

TEST_P(LaneSuite, ADeadMessageIsDeadWhateverThePolicy) {
  for (const Completion completion : {Completion::kAll, Completion::kAny}) {
    const Uuid id = Enqueue(Event());
    const auto splitter = OpenWithLanes(true, AttemptHistory::kOff, completion);
    SettleAll(*Lease(*splitter, Asks("hook")), Kind::kDead);
    EXPECT_EQ(StatusOf(id), MessageStatus::kDead);
    EXPECT_EQ(Row(id).last_error, "failed");
  }
}

TEST_P(LaneSuite, IsDrainedWhenWhatIsLeasedIsSettled) {
  Enqueue(Event());
  const auto splitter = OpenWithLanes();
  const auto hook = OpenFor("hook");
  const auto claim = Lease(*splitter, Asks("hook"));
  EXPECT_FALSE(hook->Drained(Soon()).value());
  SettleAll(*claim, Kind::kRetry);
  EXPECT_FALSE(hook->Drained(Soon()).value());
  SettleAll(*Lease(*splitter, Asks("hook")), Kind::kDelivered);
  EXPECT_TRUE(hook->Drained(Soon()).value());
}

TEST_P(LaneSuite, AttemptsAreNotedWithTheirDestination) {
  const Uuid id = Enqueue(Event());
  const auto splitter = OpenWithLanes(true, AttemptHistory::kAll);
  EXPECT_EQ(Lease(*splitter, Asks("hook", 10, 1ms))->size(), 1u);
  SettleAll(*Lease(*splitter, Asks("hook")), Kind::kRetry);
  SettleAll(*Lease(*splitter, Asks("hook")), Kind::kDelivered);
  EXPECT_EQ(History(id),
            "1 to-hook no_outcome hook\n2 to-hook retry hook\n3 to-hook delivered hook\n");
}

TEST_P(LaneSuite, AnAttemptThatWasCutOffIsNotedWhateverBecomesOfTheMessage) {
  const auto splitter = OpenWithLanes(true, AttemptHistory::kFailures);
  const auto cut_off = [&](const message::Routes& routes) {
    const Uuid id = Enqueue(Event());
    EXPECT_EQ(Lease(*splitter, Asks("hook", 10, 1ms))->size(), 1u);
    EXPECT_TRUE(Eventually([&] { return SplitFor(*splitter, routes, {}).messages == 1; }));
    return History(id);
  };
  EXPECT_EQ(cut_off(ToHook()), "1 to-hook no_outcome hook\n") << "a delivery to the same sink";
  EXPECT_EQ(cut_off(ToBoth()), "1 to-hook no_outcome \n") << "one of several, which is not known";
  EXPECT_EQ(cut_off(message::Routes(std::vector<message::Route>{})), "1 to-hook no_outcome \n")
      << "no route takes it any more";

  // The last one that a message has.
  const Uuid id = Enqueue(Event());
  EXPECT_EQ(Lease(*splitter, Asks("hook", 10, 1ms, 1))->size(), 1u);
  EXPECT_THAT(Lease(*splitter, Asks("hook", 10, 60s, 1))->exhausted(), SizeIs(1));
  EXPECT_EQ(History(id), "1 to-hook no_outcome hook\n");
}

}  // namespace outbox::conformance
