// Splitting: a message with several destinations, each with a state of its own.
#pragma once

#include <algorithm>
#include <set>

#include "tests/conformance/store_fixture.h"

namespace outbox::conformance {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class SplitSuite : public StoreSuite {
 protected:
  static message::Routes ToBoth(bool ordered = false, bool waits = true) {
    std::vector<message::Route> routes{{.topics = "#",
                                        .destinations = {"rabbit", "hook"},
                                        .ordered = ordered,
                                        .waits_for_dead = waits}};
    return message::Routes(std::move(routes));
  }

  static message::Routes To(const std::string& topics, const std::string& destination) {
    std::vector<message::Route> routes{{.topics = topics, .destinations = {destination}}};
    return message::Routes(std::move(routes));
  }

  std::unique_ptr<store::SplitStore> OpenSplit(store::SplitOptions options = {}) {
    options.table = fixture().table();
    auto opened = fixture().backend()->OpenSplit(options, Soon());
    EXPECT_OK(opened);
    return std::move(opened).value();
  }
  store::SplitReport Split(store::SplitStore& store, const message::Routes& routes) {
    auto report = store.Split(routes, {.limit = 1000}, Soon());
    EXPECT_OK(report);
    return report.ok() ? *std::move(report) : store::SplitReport{};
  }
  std::unique_ptr<store::RelayStore> OpenFor(const std::string& destination,
                                             Completion completion = Completion::kAll,
                                             bool keep = true) {
    return OpenRelay({.relay_id = destination,
                      .destination = destination,
                      .completion = completion,
                      .keep_delivered = keep});
  }
  // Claims what is due for a destination and settles all of it one way; returns the payloads.
  std::vector<std::string> Deliver(store::RelayStore& relay, Kind kind = Kind::kDelivered) {
    const auto claim = Next(relay);
    EXPECT_THAT(SettleAll(*claim, kind), IsEmpty());
    return Payloads(claim->messages());
  }
  static NewMessage Keyed(std::string payload, std::string key = "k") {
    NewMessage message = Event(std::move(payload));
    message.key = std::move(key);
    return message;
  }
};

TEST_P(SplitSuite, EachDestinationGetsEachMessageOnce) {
  const auto ids = EnqueueNumbered(3);
  const auto splitter = OpenSplit();
  const store::SplitReport report = Split(*splitter, ToBoth());
  EXPECT_EQ(report.messages, 3u);
  EXPECT_EQ(report.deliveries, 6u);
  EXPECT_EQ(Split(*splitter, ToBoth()).messages, 0u) << "a message is split once";

  const auto rabbit = OpenFor("rabbit");
  const auto hook = OpenFor("hook");
  EXPECT_THAT(Deliver(*rabbit), ElementsAre("0", "1", "2"));
  for (const Uuid& id : ids) EXPECT_EQ(StatusOf(id), MessageStatus::kProcessing);
  EXPECT_THAT(Deliver(*hook), ElementsAre("0", "1", "2"));
  for (const Uuid& id : ids) EXPECT_EQ(StatusOf(id), MessageStatus::kDelivered);
  EXPECT_THAT(Deliver(*rabbit), IsEmpty());
  EXPECT_THAT(Deliver(*hook), IsEmpty());
}

TEST_P(SplitSuite, AnIdleSplitterFindsNewWorkAtOnce) {
  const auto splitter = OpenSplit();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Split(*splitter, ToBoth()).messages, 0u);
  EnqueueNumbered(2);
  EXPECT_EQ(Split(*splitter, ToBoth()).messages, 2u);
}

TEST_P(SplitSuite, DeliveriesCarryTheMessageAndTheirOwnAttempt) {
  NewMessage sent = Keyed(R"({"text" :  "Grüße"})");
  sent.headers = {{"a", "1"}};
  const Uuid id = Enqueue(sent);
  const auto splitter = OpenSplit();
  Split(*splitter, ToBoth());
  const auto hook = OpenFor("hook");
  SettleAll(*Next(*hook), Kind::kRetry);
  const auto claim = NextFound(*hook);
  ASSERT_THAT(claim->messages(), SizeIs(1));
  const Message& got = claim->messages()[0];
  EXPECT_EQ(got.id, id);
  EXPECT_EQ(got.payload, sent.payload);
  EXPECT_EQ(got.key, "k");
  EXPECT_EQ(got.Header("a"), "1");
  EXPECT_EQ(got.attempt, 2);
  EXPECT_EQ(Next(*OpenFor("rabbit"))->messages()[0].attempt, 1);
}

TEST_P(SplitSuite, AFailingDestinationDoesNotDelayOrRepeatTheOther) {
  const Uuid id = Enqueue(Event());
  const auto splitter = OpenSplit();
  Split(*splitter, ToBoth());
  const auto rabbit = OpenFor("rabbit");
  const auto hook = OpenFor("hook");
  EXPECT_THAT(Deliver(*rabbit), SizeIs(1));
  EXPECT_THAT(Deliver(*hook, Kind::kDead), SizeIs(1));
  const store::StoredMessage row = Row(id);
  EXPECT_EQ(row.status, MessageStatus::kDead);
  EXPECT_THAT(row.last_error, HasSubstr("hook: failed"));

  // A retry touches only what has not succeeded.
  const auto inspect = fixture().backend()->OpenInspect(fixture().table(), Soon());
  ASSERT_OK(inspect);
  EXPECT_EQ((*inspect)->Retry(store::Scope::All(), {.ids = {id}}, false, 10, Soon()).value(), 1u);
  EXPECT_EQ(Split(*splitter, ToBoth()).messages, 1u);
  EXPECT_THAT(Deliver(*rabbit), IsEmpty());
  EXPECT_THAT(Deliver(*hook), SizeIs(1));
  EXPECT_EQ(StatusOf(id), MessageStatus::kDelivered);
}

TEST_P(SplitSuite, OneSuccessIsEnoughWhereThatIsThePolicy) {
  const auto ids = EnqueueNumbered(2);
  const auto splitter = OpenSplit({.completion = Completion::kAny});
  Split(*splitter, ToBoth());
  const auto rabbit = OpenFor("rabbit", Completion::kAny);
  const auto hook = OpenFor("hook", Completion::kAny);
  EXPECT_THAT(Deliver(*hook, Kind::kDead), SizeIs(2));
  EXPECT_EQ(StatusOf(ids[0]), MessageStatus::kProcessing);
  EXPECT_THAT(Deliver(*rabbit), SizeIs(2));
  for (const Uuid& id : ids) EXPECT_EQ(StatusOf(id), MessageStatus::kDelivered);
}

TEST_P(SplitSuite, WithoutRetentionACompleteMessageIsGone) {
  const Uuid id = Enqueue(Event());
  const auto splitter = OpenSplit({.keep_delivered = false});
  Split(*splitter, ToBoth());
  Deliver(*OpenFor("rabbit", Completion::kAll, false));
  EXPECT_EQ(StatusOf(id), MessageStatus::kProcessing);
  Deliver(*OpenFor("hook", Completion::kAll, false));
  EXPECT_FALSE(fixture().Find(id).has_value());
}

TEST_P(SplitSuite, ExhaustedDeliveriesDieAndDecideTheirMessage) {
  const Uuid id = Enqueue(Event());
  const auto splitter = OpenSplit();
  Split(*splitter, ToBoth());
  Deliver(*OpenFor("rabbit"));
  const auto hook = OpenFor("hook");
  // A relay that dies in its only attempt: the lease runs out.
  EXPECT_THAT(Next(*hook, 100, 1ms, 1)->messages(), SizeIs(1));
  const auto claim = NextFound(*hook, 1);
  EXPECT_THAT(claim->messages(), IsEmpty());
  ASSERT_THAT(claim->exhausted(), SizeIs(1));
  EXPECT_EQ(StatusOf(id), MessageStatus::kDead);
  EXPECT_THAT(Row(id).last_error, HasSubstr("hook: gave up after 1 attempts"));
}

TEST_P(SplitSuite, AStaleRelayCanNotSettleADeliveryThatWasTakenOver) {
  const Uuid id = Enqueue(Event());
  const auto splitter = OpenSplit();
  Split(*splitter, To("#", "hook"));
  const auto first = OpenFor("hook");
  const auto second = OpenFor("hook");
  const auto stale = Next(*first, 100, 1ms);
  ASSERT_THAT(stale->messages(), SizeIs(1));
  const auto fresh = NextFound(*second);
  ASSERT_THAT(fresh->messages(), SizeIs(1));
  EXPECT_THAT(SettleAll(*stale, Kind::kDead), ElementsAre(0u));
  EXPECT_THAT(SettleAll(*fresh, Kind::kDelivered), IsEmpty());
  EXPECT_EQ(StatusOf(id), MessageStatus::kDelivered);
}

TEST_P(SplitSuite, AMessageShowsWhereItsDeliveriesStand) {
  const Uuid id = Enqueue(Event());
  EXPECT_THAT(Row(id).deliveries, IsEmpty());
  const auto splitter = OpenSplit();
  Split(*splitter, ToBoth());
  Deliver(*OpenFor("rabbit"));
  SettleAll(*Next(*OpenFor("hook")), Kind::kRetry);
  const auto deliveries = Row(id).deliveries;
  ASSERT_THAT(deliveries, SizeIs(2));
  EXPECT_EQ(deliveries[0].destination, "hook");
  EXPECT_EQ(deliveries[0].status, MessageStatus::kPending);
  EXPECT_EQ(deliveries[0].attempts, 1);
  EXPECT_EQ(deliveries[0].last_error, "failed");
  EXPECT_EQ(deliveries[1].destination, "rabbit");
  EXPECT_EQ(deliveries[1].status, MessageStatus::kDelivered);
  EXPECT_TRUE(deliveries[1].processed_at.has_value());
}

// --- routes ---

TEST_P(SplitSuite, TopicsGoWhereTheirRoutesSay) {
  NewMessage bill = Event("1");
  bill.topic = "billing.invoice.sent.v1";
  fixture().Enqueue({Event("0"), bill});
  const auto splitter = OpenSplit();
  Split(*splitter, message::Routes({{.topics = "orders.*.created.v*", .destinations = {"rabbit"}},
                                    {.topics = "billing.#", .destinations = {"hook"}}}));
  EXPECT_THAT(Deliver(*OpenFor("rabbit")), ElementsAre("0"));
  EXPECT_THAT(Deliver(*OpenFor("hook")), ElementsAre("1"));
}

TEST_P(SplitSuite, UnroutedMessagesAreKeptBuriedOrDropped) {
  const message::Routes elsewhere = To("billing.#", "hook");
  const auto split = [&](message::Unrouted choice) {
    const Uuid id = Enqueue(Event());
    EXPECT_EQ(Split(*OpenSplit({.unrouted = choice}), elsewhere).unrouted, 1u);
    return Row(id);
  };
  const store::StoredMessage kept = split(message::Unrouted::kKeep);
  EXPECT_EQ(kept.status, MessageStatus::kPending);
  EXPECT_THAT(kept.last_error, HasSubstr("no route takes the topic orders.order.created.v1"));
  EXPECT_EQ(split(message::Unrouted::kDead).status, MessageStatus::kDead);
  EXPECT_EQ(split(message::Unrouted::kDrop).status, MessageStatus::kDelivered);

  const Uuid gone = Enqueue(Event());
  Split(*OpenSplit({.unrouted = message::Unrouted::kDrop, .keep_delivered = false}), elsewhere);
  EXPECT_FALSE(fixture().Find(gone).has_value());
}

TEST_P(SplitSuite, TellsWhichDestinationsWait) {
  Enqueue(Event());
  const auto splitter = OpenSplit();
  EXPECT_THAT(splitter->WaitingDestinations(Soon()).value(), IsEmpty());
  Split(*splitter, ToBoth());
  EXPECT_THAT(splitter->WaitingDestinations(Soon()).value(), ElementsAre("hook", "rabbit"));
  Deliver(*OpenFor("hook"));
  EXPECT_THAT(splitter->WaitingDestinations(Soon()).value(), ElementsAre("rabbit"));
}

TEST_P(SplitSuite, IsDrainedWhenNothingIsLeftForThatDestination) {
  const auto rabbit = OpenFor("rabbit");
  const auto hook = OpenFor("hook");
  EXPECT_TRUE(hook->Drained(Soon()).value());
  Enqueue(Event());
  EXPECT_FALSE(hook->Drained(Soon()).value()) << "it has yet to be split";
  const auto splitter = OpenSplit();
  Split(*splitter, ToBoth());
  EXPECT_FALSE(hook->Drained(Soon()).value());
  Deliver(*hook);
  EXPECT_TRUE(hook->Drained(Soon()).value());
  EXPECT_FALSE(rabbit->Drained(Soon()).value());
}

TEST_P(SplitSuite, ManySplittersSplitEachMessageOnce) {
  EnqueueNumbered(300);
  std::vector<std::thread> threads;
  std::atomic<std::size_t> split = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto splitter = OpenSplit();
      while (split < 300) {
        const auto report = splitter->Split(ToBoth(), {.limit = 17}, Soon());
        ASSERT_OK(report);
        split += report->messages;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(split, 300u);
  const auto rabbit = OpenFor("rabbit");
  const auto claim = Next(*rabbit, 1000);
  EXPECT_THAT(claim->messages(), SizeIs(300));
}

// --- order ---

TEST_P(SplitSuite, OfOneKeyOnlyTheFirstIsClaimed) {
  fixture().Enqueue({Keyed("0", "a"), Keyed("1", "a"), Keyed("2", "b"), Keyed("3", "")});
  const auto splitter = OpenSplit();
  Split(*splitter, ToBoth(true));
  const auto hook = OpenFor("hook");
  const auto first = Next(*hook);
  EXPECT_THAT(Payloads(first->messages()), UnorderedElementsAre("0", "2", "3"));
  EXPECT_THAT(Next(*hook)->messages(), IsEmpty()) << "1 waits for 0, which is under way";
  SettleAll(*first, Kind::kDelivered);
  EXPECT_THAT(Deliver(*hook), ElementsAre("1"));
}

TEST_P(SplitSuite, AFailedMessageIsRetriedBeforeItsSuccessorsGo) {
  fixture().Enqueue({Keyed("0"), Keyed("1")});
  const auto splitter = OpenSplit();
  Split(*splitter, ToBoth(true));
  const auto hook = OpenFor("hook");
  const auto claim = Next(*hook);
  Settle(*claim, {{.index = 0, .kind = Kind::kRetry, .retry_in = 100ms, .error = "failed"}});
  EXPECT_THAT(Payloads(NextFound(*hook)->messages()), ElementsAre("0"));
}

TEST_P(SplitSuite, ADeadMessageHoldsItsSuccessorsOrLetsThemGo) {
  for (const bool waits : {true, false}) {
    const std::string key = waits ? "waits" : "goes on";
    fixture().Enqueue({Keyed("0", key), Keyed("1", key)});
    const auto splitter = OpenSplit();
    Split(*splitter, ToBoth(true, waits));
    const auto hook = OpenFor("hook");
    EXPECT_THAT(Deliver(*hook, Kind::kDead), ElementsAre("0"));
    if (waits) {
      EXPECT_THAT(Next(*hook)->messages(), IsEmpty());
    } else {
      EXPECT_THAT(Deliver(*hook), ElementsAre("1"));
    }
  }
}

TEST_P(SplitSuite, OrderHoldsPerDestination) {
  fixture().Enqueue({Keyed("0"), Keyed("1")});
  const auto splitter = OpenSplit();
  Split(*splitter, ToBoth(true));
  EXPECT_THAT(Deliver(*OpenFor("hook"), Kind::kDead), ElementsAre("0"));
  const auto rabbit = OpenFor("rabbit");
  EXPECT_THAT(Deliver(*rabbit), ElementsAre("0"));
  EXPECT_THAT(Deliver(*rabbit), ElementsAre("1"));
}

}  // namespace outbox::conformance
