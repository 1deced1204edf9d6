// Splitting: a message with several destinations, each with a state of its own.
#pragma once

#include <algorithm>
#include <set>

#include "store/message_json.h"
#include "tests/conformance/store_fixture.h"

namespace outbox::conformance {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
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
  // What an operator may do by hand.
  void Run(const std::string& sql) {
    const auto session = fixture().backend()->OpenSession(Soon());
    ASSERT_OK(session);
    EXPECT_OK((*session)->Execute(sql));
  }
  static store::LeftOverReport Complete(store::SplitStore& store, std::int64_t after_seq = 0,
                                        std::size_t limit = 100) {
    const auto report = store.CompleteLeftOver(after_seq, limit, Soon());
    EXPECT_OK(report);
    return report.ok() ? *report : store::LeftOverReport{};
  }
  std::string deliveries() { return fixture().table() + "_delivery"; }
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
  EXPECT_EQ(got.destination, "hook");
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

TEST_P(SplitSuite, ADecidedMessageIsNeverDueAndHasTheMostAttemptsOfItsDeliveries) {
  const auto ids = EnqueueNumbered(1);
  const auto splitter = OpenSplit();
  Split(*splitter, ToBoth());
  const auto hook = OpenFor("hook");
  EXPECT_THAT(Deliver(*OpenFor("rabbit")), SizeIs(1));
  SettleAll(*Next(*hook), Kind::kRetry);
  EXPECT_EQ(store::AttemptsOf(Row(ids[0])), 1);
  EXPECT_EQ(store::AvailableAt(Row(ids[0])), std::nullopt);
  SettleAll(*NextFound(*hook), Kind::kDead);
  EXPECT_EQ(Row(ids[0]).message.attempt, 2);
  EXPECT_EQ(store::AvailableAt(Row(ids[0])), std::nullopt);
  EXPECT_THAT(store::ToJson(Row(ids[0]), true), Not(HasSubstr("9999")));
}

TEST_P(SplitSuite, StatsCountDeliveriesThatAreDue) {
  const auto inspect = fixture().OpenInspect();
  ASSERT_OK(inspect);
  const auto stats = [&] {
    const auto counted = (*inspect)->Stats(store::Scope::All(), false, Soon());
    EXPECT_OK(counted);
    return *counted;
  };
  EnqueueNumbered(2);
  Split(*OpenSplit(), ToBoth());
  EXPECT_EQ(stats().pending, 0);
  EXPECT_EQ(stats().processing, 2);
  EXPECT_EQ(stats().due, 4);
  const auto rabbit = OpenFor("rabbit");
  const auto hook = OpenFor("hook");
  Deliver(*rabbit);
  EXPECT_EQ(stats().due, 2);
  EXPECT_TRUE(Eventually([&] { return stats().oldest_age.value_or(0ms) >= 5ms; }));
  const auto claim = Next(*hook);
  EXPECT_EQ(stats().due, 0) << "they are leased";
  EXPECT_FALSE(stats().oldest_age.has_value());
  EXPECT_THAT(SettleAll(*claim, Kind::kDelivered), IsEmpty());
  EXPECT_EQ(stats().due, 0);
  EXPECT_FALSE(stats().oldest_age.has_value());
  EXPECT_EQ(stats().delivered, 2);
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

TEST_P(SplitSuite, TheErrorsOfItsDeliveriesAreCutToBytes) {
  for (const std::string& piece : {std::string("x"), std::string("ä"), std::string("𝄞")}) {
    std::string error;
    for (int i = 0; i < 90; ++i) error += piece;
    const Uuid id = Enqueue(Event());
    const auto splitter = OpenSplit();
    Split(*splitter, ToBoth());
    for (const char* destination : {"hook", "rabbit"}) {
      const auto relay = OpenRelay(
          {.relay_id = destination, .destination = destination, .last_error_bytes_max = 100});
      Settle(*Next(*relay), {{.index = 0, .kind = Kind::kDead, .error = error}});
    }
    const std::string found = Row(id).last_error;
    EXPECT_LE(found.size(), 100u);
    EXPECT_GE(found.size(), 25u);
    EXPECT_TRUE(piece != "x" || found.size() == 100u) << found;
    ASSERT_TRUE(found.starts_with("hook: ")) << found;
    EXPECT_EQ((found.size() - 6) % piece.size(), 0u) << "a whole character";
  }
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

// --- what was left behind ---

TEST_P(SplitSuite, MessagesWhoseDeliveriesWereDeletedAreDecided) {
  const auto ids = EnqueueNumbered(3);
  const auto splitter = OpenSplit();
  Split(*splitter, To("#", "hook"));
  Run("DELETE FROM " + deliveries());
  EXPECT_EQ(Complete(*splitter).completed, 3u);
  EXPECT_EQ(Complete(*splitter).looked_at, 0u);
  for (const Uuid& id : ids) {
    EXPECT_EQ(StatusOf(id), MessageStatus::kDead);
    EXPECT_EQ(Row(id).last_error, "no deliveries are left");
  }
}

TEST_P(SplitSuite, MessagesWhoseLastOpenDeliveryWasDeletedAreDelivered) {
  const Uuid id = Enqueue(Event());
  const auto splitter = OpenSplit();
  Split(*splitter, ToBoth());
  EXPECT_EQ(Complete(*splitter).completed, 0u);
  Deliver(*OpenFor("rabbit"));
  Run("DELETE FROM " + deliveries() + " WHERE destination = 'hook'");
  EXPECT_EQ(Complete(*splitter).completed, 1u);
  EXPECT_EQ(StatusOf(id), MessageStatus::kDelivered);
}

TEST_P(SplitSuite, WhatWasLeftBehindIsFoundPageByPage) {
  const auto ids = EnqueueNumbered(5);
  const auto splitter = OpenSplit();
  Split(*splitter, To("#", "hook"));
  const std::int64_t last = Row(ids[4]).message.seq;
  Run("DELETE FROM " + deliveries() + " WHERE seq = " + std::to_string(last));
  const store::LeftOverReport first = Complete(*splitter, 0, 2);
  EXPECT_EQ(first.looked_at, 2u);
  EXPECT_EQ(first.last_seq, Row(ids[1]).message.seq);
  const store::LeftOverReport second = Complete(*splitter, first.last_seq, 2);
  EXPECT_EQ(second.looked_at, 2u);
  EXPECT_EQ(second.completed, 0u);
  const store::LeftOverReport third = Complete(*splitter, second.last_seq, 2);
  EXPECT_EQ(third.looked_at, 1u);
  EXPECT_EQ(third.completed, 1u);
  EXPECT_EQ(StatusOf(ids[4]), MessageStatus::kDead);
}

TEST_P(SplitSuite, ASuccessThatDecidesIsMadeUpForWhileOthersAreOpen) {
  const Uuid id = Enqueue(Event());
  const auto splitter = OpenSplit({.completion = Completion::kAny});
  Split(*splitter, ToBoth());
  EXPECT_EQ(Complete(*splitter).completed, 0u);
  // As if its relay had crashed before it completed the message.
  Run("UPDATE " + deliveries() +
      " SET status = 'delivered', processed_at = created_at WHERE destination = 'rabbit'");
  EXPECT_EQ(Complete(*splitter).completed, 1u);
  EXPECT_EQ(StatusOf(id), MessageStatus::kDelivered);
}

TEST_P(SplitSuite, ADeliveredMessageWithOpenDeliveriesIsNotDeleted) {
  const Uuid id = Enqueue(Event());
  const auto splitter = OpenSplit({.completion = Completion::kAny});
  Split(*splitter, ToBoth());
  Deliver(*OpenFor("rabbit", Completion::kAny));
  ASSERT_EQ(StatusOf(id), MessageStatus::kDelivered);

  const auto inspect = fixture().backend()->OpenInspect(fixture().table(), Soon());
  ASSERT_OK(inspect);
  using Outcome = store::RepairResult::Outcome;
  const auto outcome = [&] {
    const auto result = (*inspect)->DeleteOne(store::Scope::All(), id, nullptr, Soon());
    return result.ok() ? result->outcome : Outcome::kNotFound;
  };
  EXPECT_EQ(outcome(), Outcome::kRefused) << "hook is still to get it";
  EXPECT_THAT(Deliver(*OpenFor("hook", Completion::kAny)), SizeIs(1));
  EXPECT_EQ(outcome(), Outcome::kDone);
}

// Those that may go stand behind those that may not.
TEST_P(SplitSuite, ADeliveredMessageWithOpenDeliveriesIsNotPurged) {
  const auto ids = EnqueueNumbered(4);
  const auto splitter = OpenSplit({.completion = Completion::kAny});
  Split(*splitter, ToBoth());
  Deliver(*OpenFor("rabbit", Completion::kAny));
  const auto hook = OpenFor("hook", Completion::kAny);
  const auto leased = Next(*hook, 1);
  {
    const auto claim = Next(*hook);
    ASSERT_THAT(Payloads(claim->messages()), ElementsAre("1", "2", "3"));
    Settle(*claim, {{.index = 0, .kind = Kind::kReleased},
                    {.index = 1, .kind = Kind::kDelivered},
                    {.index = 2, .kind = Kind::kDead, .error = "refused"}});
  }
  const auto clean = fixture().backend()->OpenClean(fixture().table(), Soon());
  ASSERT_OK(clean);
  const auto purge = [&] { return (*clean)->PurgeDelivered(0ms, 1, Soon()).value(); };
  for (int gone = 0; gone < 2; ++gone) EXPECT_TRUE(Eventually([&] { return purge() == 1; }));
  EXPECT_EQ(purge(), 0u);
  EXPECT_EQ(StatusOf(ids[0]), MessageStatus::kDelivered) << "leased";
  EXPECT_EQ(StatusOf(ids[1]), MessageStatus::kDelivered) << "pending";
  EXPECT_FALSE(fixture().Find(ids[2]).has_value());
  EXPECT_FALSE(fixture().Find(ids[3]).has_value());

  EXPECT_THAT(SettleAll(*leased, Kind::kDelivered), IsEmpty());
  EXPECT_THAT(Deliver(*OpenFor("hook", Completion::kAny)), ElementsAre("1"));
  for (int gone = 0; gone < 2; ++gone) EXPECT_TRUE(Eventually([&] { return purge() == 1; }));
  EXPECT_EQ(purge(), 0u);
  for (const Uuid& id : ids) EXPECT_FALSE(fixture().Find(id).has_value());
}

TEST_P(SplitSuite, WithoutRetentionAMessageIsGoneOnceNoDeliveryIsOpen) {
  const Uuid id = Enqueue(Event());
  const auto splitter = OpenSplit({.completion = Completion::kAny, .keep_delivered = false});
  Split(*splitter, ToBoth());
  EXPECT_THAT(Deliver(*OpenFor("rabbit", Completion::kAny, false)), SizeIs(1));
  EXPECT_TRUE(fixture().Find(id).has_value()) << "hook is still to get it";
  EXPECT_THAT(Deliver(*OpenFor("hook", Completion::kAny, false)), SizeIs(1));
  EXPECT_FALSE(fixture().Find(id).has_value());
}

// A message is pending, or dead, while a sink is about to get it: another delivery of it was
// retried, or a relay without routes took it in between.
TEST_P(SplitSuite, WhatASinkIsAboutToGetIsNotDeleted) {
  const auto ids = EnqueueNumbered(2);
  const auto splitter = OpenSplit();
  Split(*splitter, ToBoth());
  EXPECT_THAT(Deliver(*OpenFor("hook"), Kind::kDead), SizeIs(2));
  const auto leased = Next(*OpenFor("rabbit"));
  ASSERT_THAT(leased->messages(), SizeIs(2));
  const auto inspect = fixture().backend()->OpenInspect(fixture().table(), Soon());
  ASSERT_OK(inspect);
  const store::RepairTarget by_id{.ids = ids};
  const store::RepairTarget failed{.filter =
                                       store::RepairFilter{.status = store::ListStatus::kFailed}};
  const store::RepairTarget dead{.filter = store::RepairFilter{}};
  EXPECT_EQ((*inspect)->Retry(store::Scope::All(), by_id, false, 10, Soon()).value(), 2u);
  {
    const auto claim = Next(*OpenRelay());
    ASSERT_THAT(claim->messages(), SizeIs(2));
    Settle(*claim, {{.index = 0, .kind = Kind::kRetry, .error = "failed"},
                    {.index = 1, .kind = Kind::kDead, .error = "failed"}});
  }
  using Outcome = store::RepairResult::Outcome;
  const auto clean = fixture().backend()->OpenClean(fixture().table(), Soon());
  ASSERT_OK(clean);
  const auto one = [&](const Uuid& id) {
    return (*inspect)->DeleteOne(store::Scope::All(), id, nullptr, Soon()).value().outcome;
  };
  const auto many = [&](const store::RepairTarget& target, bool dry_run) {
    return (*inspect)->Delete(store::Scope::All(), target, dry_run, 10, Soon()).value();
  };
  for (const Uuid& id : ids) EXPECT_EQ(one(id), Outcome::kRefused);
  for (const bool dry_run : {true, false}) {
    EXPECT_EQ(many(by_id, dry_run), 0u);
    EXPECT_EQ(many(failed, dry_run), 0u);
    EXPECT_EQ(many(dead, dry_run), 0u);
  }
  std::this_thread::sleep_for(2ms);  // older than no time at all, by a clock of milliseconds
  EXPECT_EQ((*clean)->PurgeDead(0ms, 10, Soon()).value(), 0u);

  EXPECT_THAT(SettleAll(*leased, Kind::kReleased), IsEmpty());
  EXPECT_EQ((*clean)->PurgeDead(0ms, 10, Soon()).value(), 0u) << "still to be delivered";
  EXPECT_EQ(many(by_id, true), 2u);
  EXPECT_EQ(many(failed, false), 1u);
  EXPECT_EQ(many(dead, false), 1u);
  EXPECT_THAT(Next(*OpenFor("rabbit"))->messages(), IsEmpty());
}

TEST_P(SplitSuite, ADroppedMessageTakesItsDeliveriesAlong) {
  const Uuid id = fixture().Enqueue({Keyed("0"), Keyed("1")}).front();
  const auto splitter = OpenSplit({.unrouted = message::Unrouted::kDrop, .keep_delivered = false});
  Split(*splitter, [] {
    std::vector<message::Route> routes{{.topics = "#", .destinations = {"hook"}, .ordered = true}};
    return message::Routes(std::move(routes));
  }());
  const auto hook = OpenFor("hook");
  EXPECT_THAT(Deliver(*hook, Kind::kDead), ElementsAre("0"));
  EXPECT_THAT(Next(*hook)->messages(), IsEmpty());
  const auto inspect = fixture().backend()->OpenInspect(fixture().table(), Soon());
  ASSERT_OK(inspect);
  EXPECT_EQ((*inspect)->Retry(store::Scope::All(), {.ids = {id}}, false, 10, Soon()).value(), 1u);
  EXPECT_EQ(Split(*splitter, To("billing.#", "hook")).unrouted, 1u);
  EXPECT_FALSE(fixture().Find(id).has_value());
  EXPECT_THAT(Payloads(NextFound(*hook)->messages()), ElementsAre("1"));
}

// --- order ---

// A key that fell behind: its successors become claimable one by one, while others flow.
TEST_P(SplitSuite, AKeyThatFellBehindCatchesUpWithoutPauses) {
  std::vector<NewMessage> messages;
  for (int i = 0; i < 50; ++i) messages.push_back(Keyed(std::to_string(i), "behind"));
  fixture().Enqueue(messages);
  const auto splitter = OpenSplit();
  const std::vector<message::Route> routes{
      {.topics = "#", .destinations = {"hook"}, .ordered = true}};
  Split(*splitter, message::Routes(routes));
  const auto hook = OpenFor("hook");
  {
    const auto head = Next(*hook, 1);
    ASSERT_THAT(Payloads(head->messages()), ElementsAre("0"));
    Settle(*head, {{.index = 0, .kind = Kind::kRetry, .retry_in = 50ms, .error = "failed"}});
  }
  std::this_thread::sleep_for(50ms);
  messages.clear();
  for (int i = 0; i < 4000; ++i) messages.push_back(Keyed("\"x\"", std::to_string(i)));
  fixture().Enqueue(messages);
  while (Split(*splitter, message::Routes(routes)).messages > 0) {
  }
  std::vector<std::string> behind;
  std::size_t claimed = 0;
  ASSERT_TRUE(Eventually([&] {
    const auto claim = Next(*hook, 20);
    for (const std::string& payload : Payloads(claim->messages())) {
      if (payload != "\"x\"") behind.push_back(payload);
    }
    claimed += claim->size();
    SettleAll(*claim, Kind::kDelivered);
    return behind.size() == 50;
  }));
  EXPECT_LT(claimed, 3000u) << "others were still flowing";
  for (int i = 0; i < 50; ++i) EXPECT_EQ(behind[static_cast<std::size_t>(i)], std::to_string(i));
}

TEST_P(SplitSuite, WhatWaitsInAnOrderIsSteppedOver) {
  std::vector<NewMessage> messages;
  for (int i = 0; i < 3000; ++i) messages.push_back(Keyed(std::to_string(i), "stuck"));
  messages.push_back(Keyed("\"free\"", "free"));
  messages.push_back(Event("\"unordered\""));
  fixture().Enqueue(messages);
  const auto splitter = OpenSplit();
  const std::vector<message::Route> routes{
      {.topics = "#", .destinations = {"hook"}, .ordered = true}};
  while (Split(*splitter, message::Routes(routes)).messages > 0) {
  }
  const auto hook = OpenFor("hook");
  const auto head = Next(*hook, 1);
  ASSERT_THAT(Payloads(head->messages()), ElementsAre("0"));
  Settle(*head, {{.index = 0, .kind = Kind::kRetry, .retry_in = 1h, .error = "failed"}});
  std::vector<std::string> found;
  EXPECT_TRUE(Eventually([&] {
    for (const std::string& payload : Deliver(*hook)) found.push_back(payload);
    return found.size() >= 2;
  }));
  EXPECT_THAT(found, ElementsAre("\"free\"", "\"unordered\""));
  EXPECT_THAT(Next(*hook)->messages(), IsEmpty());
}

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

TEST_P(SplitSuite, ADeadDeliveryIsRetriedThoughItsMessageIsUnderWayOrDelivered) {
  for (const Completion completion : {Completion::kAll, Completion::kAny}) {
    const std::string key = completion == Completion::kAll ? "all" : "any";
    const auto ids = fixture().Enqueue({Keyed("0", key), Keyed("1", key)});
    const auto splitter = OpenSplit({.completion = completion});
    Split(*splitter, ToBoth(true));
    const auto hook = OpenFor("hook", completion);
    const auto rabbit = OpenFor("rabbit", completion);
    if (completion == Completion::kAny) Deliver(*rabbit);
    EXPECT_THAT(Deliver(*hook, Kind::kDead), ElementsAre("0"));
    EXPECT_THAT(Next(*hook)->messages(), IsEmpty()) << "1 waits for 0";
    EXPECT_EQ(StatusOf(ids[0]), completion == Completion::kAny ? MessageStatus::kDelivered
                                                               : MessageStatus::kProcessing);

    const auto inspect = fixture().backend()->OpenInspect(fixture().table(), Soon());
    ASSERT_OK(inspect);
    const auto refused = (*inspect)->RetryOne(store::Scope::All(), ids[1], nullptr, Soon());
    EXPECT_EQ(refused->outcome, store::RepairResult::Outcome::kRefused) << "none of it is dead";
    const store::RepairTarget both{.ids = ids};
    EXPECT_EQ((*inspect)->Retry(store::Scope::All(), both, true, 10, Soon()).value(), 1u);
    const auto retried = (*inspect)->RetryOne(store::Scope::All(), ids[0], nullptr, Soon());
    EXPECT_EQ(retried->outcome, store::RepairResult::Outcome::kDone);
    EXPECT_EQ(Split(*splitter, ToBoth(true)).messages, 1u);
    EXPECT_THAT(Payloads(NextFound(*hook)->messages()), ElementsAre("0"));
  }
}

TEST_P(SplitSuite, RetryingTheDeadReachesEveryDeadDelivery) {
  for (const Completion completion : {Completion::kAll, Completion::kAny}) {
    const std::string key = completion == Completion::kAll ? "all" : "any";
    const auto ids = fixture().Enqueue({Keyed("0", key), Keyed("1", key), Event("2"), Event("3")});
    const auto splitter = OpenSplit({.completion = completion});
    Split(*splitter, ToBoth(true));
    const auto hook = OpenFor("hook", completion);
    const auto rabbit = OpenFor("rabbit", completion);
    // 0 and 3 are dead for the hook; 2 is delivered there; rabbit has yet to take them all, or has
    // taken what it could where one success is enough.
    {
      const auto claim = Next(*hook);
      ASSERT_THAT(Payloads(claim->messages()), UnorderedElementsAre("0", "2", "3"));
      std::vector<store::Outcome> outcomes;
      for (std::uint32_t i = 0; i < claim->size(); ++i) {
        const bool delivered = claim->messages()[i].payload == "2";
        outcomes.push_back({.index = i,
                            .kind = delivered ? Kind::kDelivered : Kind::kDead,
                            .error = delivered ? "" : "refused"});
      }
      Settle(*claim, outcomes);
    }
    if (completion == Completion::kAny) Deliver(*rabbit);
    const auto under_way =
        completion == Completion::kAny ? MessageStatus::kDelivered : MessageStatus::kProcessing;
    EXPECT_EQ(StatusOf(ids[0]), under_way);

    const auto inspect = fixture().backend()->OpenInspect(fixture().table(), Soon());
    ASSERT_OK(inspect);
    const auto retry = [&](store::RepairFilter filter, bool dry_run, std::size_t limit = 10) {
      return (*inspect)
          ->Retry(store::Scope::All(), {.filter = std::move(filter)}, dry_run, limit, Soon())
          .value();
    };
    EXPECT_EQ(retry({}, true), 2u);
    EXPECT_EQ(retry({.status = store::ListStatus::kFailed}, true), 0u);
    EXPECT_EQ(retry({.topic = "billing.invoice.sent.v1"}, true), 0u);
    EXPECT_EQ(retry({.error_contains = "hook: refused"}, true), 2u) << "as it will be written";
    EXPECT_EQ(retry({.error_contains = "rabbit: refused"}, true), 0u);
    EXPECT_EQ(retry({.created_until = Row(ids[0]).message.created_at}, true), 0u);
    EXPECT_EQ(retry({}, false, 1), 1u);
    EXPECT_EQ(retry({}, false), 1u);
    EXPECT_EQ(retry({}, false), 0u) << "both start anew";
    EXPECT_EQ(StatusOf(ids[2]), under_way) << "left alone";
    EXPECT_EQ(Split(*splitter, ToBoth(true)).messages, 2u);
    EXPECT_THAT(Deliver(*hook), UnorderedElementsAre("0", "3"));
    EXPECT_THAT(Deliver(*hook), ElementsAre("1"));
    while (!Deliver(*rabbit).empty()) {
    }
    for (const Uuid& id : ids) EXPECT_EQ(StatusOf(id), MessageStatus::kDelivered);
  }
}

TEST_P(SplitSuite, AMessageWithSeveralDeadDeliveriesIsRetriedOnce) {
  const Uuid id = Enqueue(Event());
  const std::vector<message::Route> routes{
      {.topics = "#", .destinations = {"hook", "rabbit", "third"}}};
  const auto splitter = OpenSplit();
  Split(*splitter, message::Routes(routes));
  Deliver(*OpenFor("hook"), Kind::kDead);
  Deliver(*OpenFor("rabbit"), Kind::kDead);
  const auto inspect = fixture().backend()->OpenInspect(fixture().table(), Soon());
  ASSERT_OK(inspect);
  const store::RepairTarget dead{.filter = store::RepairFilter{}};
  EXPECT_EQ((*inspect)->Retry(store::Scope::All(), dead, true, 10, Soon()).value(), 1u);
  EXPECT_EQ((*inspect)->Retry(store::Scope::All(), dead, false, 10, Soon()).value(), 1u);
  Split(*splitter, message::Routes(routes));
  EXPECT_THAT(Deliver(*OpenFor("hook")), SizeIs(1));
  EXPECT_THAT(Deliver(*OpenFor("rabbit")), SizeIs(1));
  EXPECT_EQ(StatusOf(id), MessageStatus::kProcessing) << "the third has yet to take it";
}

TEST_P(SplitSuite, ATenantRetriesItsOwnDeadDeliveries) {
  const Uuid tenant = Uuid::NewV7();
  NewMessage own = Event("0");
  own.tenant_id = tenant;
  const auto ids = fixture().Enqueue({own, Event("1")});
  const auto splitter = OpenSplit();
  Split(*splitter, ToBoth());
  const auto hook = OpenFor("hook");
  EXPECT_THAT(Deliver(*hook, Kind::kDead), SizeIs(2));
  const auto inspect = fixture().backend()->OpenInspect(fixture().table(), Soon());
  ASSERT_OK(inspect);
  const store::RepairTarget dead{.filter = store::RepairFilter{}};
  const store::Scope scope = store::Scope::Tenant(tenant);
  EXPECT_EQ((*inspect)->Retry(store::Scope::Tenant(Uuid::NewV7()), dead, false, 10, Soon()).value(),
            0u);
  EXPECT_EQ((*inspect)->Retry(scope, dead, false, 10, Soon()).value(), 1u);
  EXPECT_EQ(StatusOf(ids[0]), MessageStatus::kPending);
  EXPECT_EQ(StatusOf(ids[1]), MessageStatus::kProcessing);
}

// What is deleted is gone for all its destinations, so one that is still under way stays.
TEST_P(SplitSuite, DeletingTheDeadLeavesMessagesAloneThatAreUnderWay) {
  const auto ids = EnqueueNumbered(2);
  const auto splitter = OpenSplit();
  Split(*splitter, ToBoth());
  const auto rabbit = OpenFor("rabbit");
  SettleAll(*Next(*rabbit, 1), Kind::kDelivered);
  EXPECT_THAT(Deliver(*OpenFor("hook"), Kind::kDead), SizeIs(2));
  const auto inspect = fixture().backend()->OpenInspect(fixture().table(), Soon());
  ASSERT_OK(inspect);
  const store::RepairTarget dead{.filter = store::RepairFilter{}};
  EXPECT_EQ((*inspect)->Delete(store::Scope::All(), dead, true, 10, Soon()).value(), 1u);
  EXPECT_EQ((*inspect)->Delete(store::Scope::All(), dead, false, 10, Soon()).value(), 1u);
  EXPECT_FALSE(fixture().Find(ids[0]).has_value());
  EXPECT_EQ(StatusOf(ids[1]), MessageStatus::kProcessing);
  EXPECT_THAT(Row(ids[1]).deliveries, SizeIs(2));
  EXPECT_THAT(Deliver(*rabbit), ElementsAre("1"));
  EXPECT_EQ(StatusOf(ids[1]), MessageStatus::kDead);
}

TEST_P(SplitSuite, ADeliveryThatStartsAnewFollowsTheRoutesOfNow) {
  const auto ids = fixture().Enqueue({Keyed("0"), Keyed("1")});
  const auto splitter = OpenSplit();
  Split(*splitter, To("#", "hook"));
  const auto hook = OpenFor("hook");
  EXPECT_THAT(Deliver(*hook, Kind::kDead), ElementsAre("0", "1"));
  const auto inspect = fixture().backend()->OpenInspect(fixture().table(), Soon());
  ASSERT_OK(inspect);
  EXPECT_EQ((*inspect)->Retry(store::Scope::All(), {.ids = ids}, false, 10, Soon()).value(), 2u);
  Split(*splitter, ToBoth(true));
  EXPECT_THAT(Deliver(*hook), ElementsAre("0")) << "now there is an order";
  EXPECT_THAT(Deliver(*hook), ElementsAre("1"));
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
