// What operators and the cleaner do: list, look, count, repair, purge, migrate.
#pragma once

#include <set>

#include "tests/conformance/store_fixture.h"

namespace outbox::conformance {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class OperateSuite : public StoreSuite {
 protected:
  inline static const store::Scope kAll = store::Scope::All();

  void SetUp() override {
    StoreSuite::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    auto inspect = fixture().backend()->OpenInspect(fixture().table(), Soon());
    ASSERT_OK(inspect);
    inspect_ = std::move(inspect).value();
    auto clean = fixture().backend()->OpenClean(fixture().table(), Soon());
    ASSERT_OK(clean);
    clean_ = std::move(clean).value();
  }

  store::InspectStore& inspect() { return *inspect_; }
  store::CleanStore& clean() { return *clean_; }
  store::Backend& backend() { return *fixture().backend(); }

  store::ListPage List(const store::ListFilter& filter, const store::Scope& scope = kAll) {
    auto page = inspect().List(scope, filter, Soon());
    EXPECT_OK(page);
    return page.ok() ? *page : store::ListPage{};
  }

  // The ids of all pages.
  std::vector<Uuid> ListAll(store::ListFilter filter, const store::Scope& scope = kAll) {
    std::vector<Uuid> ids;
    do {
      const auto page = List(filter, scope);
      EXPECT_LE(page.rows.size(), filter.limit);
      for (const auto& row : page.rows) ids.push_back(row.message.id);
      filter.after = page.next;
    } while (!filter.after.empty());
    return ids;
  }

  store::TableStats Stats(bool exact = true) {
    const auto stats = inspect().Stats(kAll, exact, Soon());
    EXPECT_OK(stats);
    return stats.ok() ? *stats : store::TableStats{};
  }

  // Enqueues and settles one message.
  Uuid Settled(Kind kind, const NewMessage& message = Event()) {
    const Uuid id = Enqueue(message);
    const auto relay = OpenRelay();
    EXPECT_THAT(SettleAll(*Next(*relay), kind), IsEmpty());
    return id;
  }

 private:
  std::unique_ptr<store::InspectStore> inspect_;
  std::unique_ptr<store::CleanStore> clean_;
};

TEST_P(OperateSuite, GetShowsARowWithItsPayload) {
  const Uuid id = Enqueue(Event("{\"a\":1}"));
  EXPECT_EQ(Row(id).message.payload, "{\"a\":1}");
  EXPECT_EQ(Row(id).status, MessageStatus::kPending);
  EXPECT_EQ(Row(id).message.attempt, 0);
  EXPECT_FALSE(fixture().Find(Uuid::NewV7()).has_value());
}

TEST_P(OperateSuite, ListsByStatus) {
  const Uuid delivered = Settled(Kind::kDelivered);
  const Uuid dead = Settled(Kind::kDead);
  const Uuid leased = Enqueue(Event());
  const auto relay = OpenRelay();
  const auto claim = Next(*relay);
  const Uuid pending = Enqueue(Event());
  EXPECT_THAT(ListAll({.status = store::ListStatus::kDelivered}), ElementsAre(delivered));
  EXPECT_THAT(ListAll({.status = store::ListStatus::kDead}), ElementsAre(dead));
  EXPECT_THAT(ListAll({.status = store::ListStatus::kProcessing}), ElementsAre(leased));
  EXPECT_THAT(ListAll({.status = store::ListStatus::kPending}), ElementsAre(pending));
  EXPECT_THAT(ListAll({}), ElementsAre(leased, pending, dead));
}

TEST_P(OperateSuite, ListLeavesPayloadsOut) {
  Enqueue(Event("{\"secret\":1}"));
  EXPECT_EQ(List({}).rows.at(0).message.payload, "");
}

TEST_P(OperateSuite, PagesTileTheListWithoutGapsOrRepeats) {
  const auto pending = EnqueueNumbered(7);
  EXPECT_EQ(ListAll({.limit = 3}), pending);
  EXPECT_EQ(ListAll({.limit = 7}), pending);
  const auto relay = OpenRelay();
  SettleAll(*Next(*relay), Kind::kDead);
  EXPECT_EQ(ListAll({.status = store::ListStatus::kDead, .limit = 2}), pending) << "oldest first";
  auto everything = EnqueueNumbered(3);
  everything.insert(everything.end(), pending.begin(), pending.end());
  EXPECT_EQ(ListAll({.limit = 2}), everything) << "the backlog, then the dead";
}

TEST_P(OperateSuite, DeliveredMessagesAreListedNewestFirst) {
  const auto relay = OpenRelay();
  const auto ids = EnqueueNumbered(3);
  for (int i = 0; i < 3; ++i) {
    SettleAll(*Next(*relay, 1), Kind::kDelivered);
    const auto at = Row(ids[static_cast<std::size_t>(i)]).processed_at;
    // Distinct times: their order is what is listed.
    const Deadline tick = Deadline::After(5ms);
    while (!tick.passed()) std::this_thread::yield();
    EXPECT_TRUE(at.has_value());
  }
  EXPECT_THAT(ListAll({.status = store::ListStatus::kDelivered, .limit = 2}),
              ElementsAre(ids[2], ids[1], ids[0]));
}

TEST_P(OperateSuite, ListsByTopicKeyTenantAndAggregate) {
  NewMessage special{.topic = "billing.invoice.sent.v1", .payload = "{}"};
  special.key = "k1";
  special.tenant_id = Uuid::NewV7();
  special.aggregate_type = "invoice";
  special.aggregate_id = "7";
  EnqueueNumbered(3);
  const Uuid first = Enqueue(special);
  EnqueueNumbered(3);
  const Uuid second = Enqueue(special);
  EXPECT_THAT(ListAll({.topic = special.topic, .limit = 1}), ElementsAre(first, second));
  EXPECT_THAT(ListAll({.key = "k1"}), ElementsAre(first, second));
  EXPECT_THAT(ListAll({.limit = 1}, store::Scope::Tenant(*special.tenant_id)),
              ElementsAre(second, first));
  EXPECT_THAT(ListAll({.aggregate_type = "invoice", .aggregate_id = "7", .limit = 1}),
              ElementsAre(second, first));
  EXPECT_THAT(ListAll({.aggregate_type = "invoice", .aggregate_id = "8"}), IsEmpty());
}

TEST_P(OperateSuite, AForeignPagePositionIsRefused) {
  EXPECT_THAT(inspect().List(kAll, {.after = "no position"}, Soon()),
              HasCode(Code::kInvalidArgument));
}

TEST_P(OperateSuite, StatsCountEveryState) {
  Settled(Kind::kDelivered);
  Settled(Kind::kDead);
  const auto relay = OpenRelay();
  EnqueueNumbered(3);
  const auto retried = Next(*relay, 1);
  Settle(*retried, {{.index = 0, .kind = Kind::kRetry, .retry_in = 1h, .error = "x"}});
  const auto leased = Next(*relay, 1);
  const auto stats = Stats();
  EXPECT_EQ(stats.pending, 2);
  EXPECT_EQ(stats.due, 1);
  EXPECT_EQ(stats.retrying, 1);
  EXPECT_EQ(stats.processing, 1);
  EXPECT_EQ(stats.stale, 0);
  EXPECT_EQ(stats.dead, 1);
  EXPECT_EQ(stats.delivered, 1);
  EXPECT_FALSE(stats.live_estimated || stats.dead_estimated || stats.delivered_estimated);
  EXPECT_FALSE(stats.capped);
  EXPECT_TRUE(stats.oldest_age.has_value());
}

TEST_P(OperateSuite, TheOldestThatIsDueIsOneThatNobodyHolds) {
  EnqueueNumbered(1);
  const auto relay = OpenRelay();
  const auto leased = Next(*relay, 1);
  EXPECT_FALSE(Stats().oldest_age.has_value()) << "leased: it does not wait";
  const auto lapsing = [&] {
    EnqueueNumbered(1);
    return Next(*relay, 1, 1ms);
  }();
  EXPECT_TRUE(Eventually([&] { return Stats().oldest_age.has_value(); }))
      << "its lease expired: it can be claimed again";
}

TEST_P(OperateSuite, StatsOfAnEmptyTableAreZero) {
  const auto stats = Stats(false);
  EXPECT_EQ(stats.pending + stats.processing + stats.dead + stats.delivered, 0);
  EXPECT_FALSE(stats.oldest_age.has_value());
}

TEST_P(OperateSuite, StatsTellStaleLeases) {
  EnqueueNumbered(1);
  const auto relay = OpenRelay();
  const auto lapsing = Next(*relay, 1, 1ms);
  EXPECT_TRUE(Eventually([&] { return Stats().stale == 1; }));
  EXPECT_EQ(Stats().processing, 1);
}

TEST_P(OperateSuite, RetryBringsADeadMessageBack) {
  const Uuid id = Settled(Kind::kDead);
  const store::RepairTarget target{.ids = {id}};
  const auto planned = inspect().Retry(kAll, target, true, 10, Soon());
  ASSERT_OK(planned);
  EXPECT_EQ(*planned, 1U);
  EXPECT_EQ(StatusOf(id), MessageStatus::kDead) << "a dry run changes nothing";
  const auto done = inspect().Retry(kAll, target, false, 10, Soon());
  ASSERT_OK(done);
  EXPECT_EQ(*done, 1U);
  EXPECT_EQ(StatusOf(id), MessageStatus::kPending);
  EXPECT_EQ(Row(id).message.attempt, 0);
  const auto relay = OpenRelay();
  const auto claim = Next(*relay);
  ASSERT_THAT(claim->messages(), SizeIs(1));
  EXPECT_EQ(claim->messages()[0].attempt, 1);
}

TEST_P(OperateSuite, RetryLeavesOtherStatesAlone) {
  const Uuid delivered = Settled(Kind::kDelivered);
  const Uuid pending = Enqueue(Event());
  const auto done = inspect().Retry(kAll, {.ids = {delivered, pending}}, false, 10, Soon());
  ASSERT_OK(done);
  EXPECT_EQ(*done, 0U);
  EXPECT_EQ(StatusOf(delivered), MessageStatus::kDelivered);
}

TEST_P(OperateSuite, ATopicMayBeAPattern) {
  const Uuid tenant = Uuid::NewV7();
  std::vector<Uuid> ids;
  for (const char* topic : {"shop.order.placed.v1", "shop.order.placed.v2", "shop.cart.left.v1",
                            "shopping.list.made.v1"}) {
    NewMessage message{.topic = topic, .payload = "{}"};
    message.tenant_id = tenant;
    ids.push_back(Enqueue(message));
  }
  EXPECT_THAT(ListAll({.topic = "shop.#"}), ElementsAre(ids[0], ids[1], ids[2]));
  EXPECT_THAT(ListAll({.topic = "*.*.*.v1", .limit = 1}), ElementsAre(ids[0], ids[2], ids[3]));
  EXPECT_THAT(ListAll({.topic = "shop.order.placed.v1.#"}), ElementsAre(ids[0]));
  EXPECT_THAT(ListAll({.topic = "shop.order"}), IsEmpty());
  EXPECT_THAT(ListAll({.topic = "shop.#"}, store::Scope::Tenant(tenant)),
              ElementsAre(ids[2], ids[1], ids[0]));
  SettleAll(*Next(*OpenRelay()), Kind::kDead);
  const auto matched = [&](const char* topic) {
    const store::RepairTarget target{.filter = store::RepairFilter{.topic = topic}};
    return inspect().Retry(kAll, target, true, 10, Soon());
  };
  EXPECT_EQ(*matched("shop.#"), 3U);
  EXPECT_EQ(*matched("shop.order.#"), 2U);
  const store::RepairTarget orders{.filter = store::RepairFilter{.topic = "shop.order.*.v*"}};
  EXPECT_EQ(*inspect().Delete(kAll, orders, false, 10, Soon()), 2U);
  EXPECT_EQ(*inspect().Retry(store::Scope::Tenant(tenant),
                             {.filter = store::RepairFilter{.topic = "#"}}, false, 10, Soon()),
            2U);
}

TEST_P(OperateSuite, RetryOfAllDeadGoesInStepsOfTheLimit) {
  EnqueueNumbered(5);
  Enqueue({.topic = "billing.invoice.sent.v1", .payload = "{}"});
  const auto relay = OpenRelay();
  SettleAll(*Next(*relay), Kind::kDead);
  const store::RepairTarget target{.filter =
                                       store::RepairFilter{.topic = "orders.order.created.v1"}};
  std::vector<std::size_t> steps;
  do {
    const auto step = inspect().Retry(kAll, target, false, 2, Soon());
    ASSERT_OK(step);
    steps.push_back(*step);
  } while (steps.back() > 0);
  EXPECT_THAT(steps, ElementsAre(2, 2, 1, 0));
  EXPECT_EQ(Stats().dead, 1) << "the other topic's";
}

TEST_P(OperateSuite, DeleteRemovesPendingAndDeadRowsOnly) {
  const Uuid delivered = Settled(Kind::kDelivered);
  const Uuid dead = Settled(Kind::kDead);
  const Uuid leased = Enqueue(Event());
  const auto relay = OpenRelay();
  const auto claim = Next(*relay);
  const Uuid pending = Enqueue(Event());
  const store::RepairTarget target{.ids = {delivered, dead, leased, pending}};
  const auto planned = inspect().Delete(kAll, target, true, 10, Soon());
  ASSERT_OK(planned);
  EXPECT_EQ(*planned, 2U);
  EXPECT_TRUE(fixture().Find(dead).has_value()) << "a dry run changes nothing";
  const auto done = inspect().Delete(kAll, target, false, 10, Soon());
  ASSERT_OK(done);
  EXPECT_EQ(*done, 2U);
  EXPECT_FALSE(fixture().Find(dead).has_value());
  EXPECT_FALSE(fixture().Find(pending).has_value());
  EXPECT_TRUE(fixture().Find(delivered).has_value());
  EXPECT_THAT(SettleAll(*claim, Kind::kDelivered), IsEmpty());
}

TEST_P(OperateSuite, PurgeTakesOnlyDeliveredRowsPastTheirRetention) {
  const Uuid delivered = Settled(Kind::kDelivered);
  const Uuid dead = Settled(Kind::kDead);
  const Uuid pending = Enqueue(Event());
  const auto early = clean().PurgeDelivered(1h, 100, Soon());
  ASSERT_OK(early);
  EXPECT_EQ(*early, 0U);
  EXPECT_TRUE(Eventually([&] {
    const auto purged = clean().PurgeDelivered(20ms, 100, Soon());
    return purged.ok() && *purged == 1;
  }));
  EXPECT_FALSE(fixture().Find(delivered).has_value());
  EXPECT_TRUE(fixture().Find(dead).has_value());
  EXPECT_TRUE(fixture().Find(pending).has_value());
}

TEST_P(OperateSuite, PurgeTakesOnlyDeadRowsPastTheirRetention) {
  const Uuid delivered = Settled(Kind::kDelivered);
  const Uuid dead = Settled(Kind::kDead);
  const Uuid pending = Enqueue(Event());
  const auto early = clean().PurgeDead(1h, 100, Soon());
  ASSERT_OK(early);
  EXPECT_EQ(*early, 0U);
  EXPECT_TRUE(Eventually([&] {
    const auto purged = clean().PurgeDead(20ms, 100, Soon());
    return purged.ok() && *purged == 1;
  }));
  EXPECT_FALSE(fixture().Find(dead).has_value());
  EXPECT_TRUE(fixture().Find(delivered).has_value());
  EXPECT_TRUE(fixture().Find(pending).has_value());
}

TEST_P(OperateSuite, PurgeStopsAtItsLimit) {
  EnqueueNumbered(5);
  const auto relay = OpenRelay();
  SettleAll(*Next(*relay), Kind::kDelivered);
  // Once one that was settled later is past its retention, all five are.
  Settled(Kind::kDead);
  ASSERT_TRUE(Eventually([&] {
    const auto purged = clean().PurgeDead(0ms, 1, Soon());
    return purged.ok() && *purged == 1;
  }));
  std::vector<std::size_t> steps;
  do {
    const auto step = clean().PurgeDelivered(0ms, 2, Soon());
    ASSERT_OK(step);
    steps.push_back(*step);
  } while (steps.back() > 0);
  EXPECT_THAT(steps, ElementsAre(2, 2, 1, 0));
}

TEST_P(OperateSuite, MigratingUpTwiceChangesNothing) {
  const auto migrator = std::move(backend().OpenMigrator(Soon())).value();
  const auto again = migrator->Up({.table = fixture().table()}, Soon());
  ASSERT_OK(again);
  EXPECT_THAT(again->applied, IsEmpty());
  EXPECT_THAT(again->switched, IsEmpty());
  const auto schema = migrator->Inspect(fixture().table(), Soon());
  ASSERT_OK(schema);
  EXPECT_TRUE(schema->exists);
  EXPECT_EQ(schema->version, schema->version_latest);
  for (const auto& migration : schema->migrations) EXPECT_TRUE(migration.applied);
}

TEST_P(OperateSuite, MigratingDownAndUpGivesAnEmptyTableAgain) {
  const auto migrator = std::move(backend().OpenMigrator(Soon())).value();
  const Uuid id = Settled(Kind::kDelivered);
  const auto down = migrator->Down({.table = fixture().table()}, Soon());
  ASSERT_OK(down);
  EXPECT_FALSE(down->empty());
  EXPECT_THAT(backend().OpenInspect(fixture().table(), Soon()), HasCode(Code::kNotFound));
  ASSERT_OK(migrator->Up({.table = fixture().table()}, Soon()));
  EXPECT_FALSE(fixture().Find(id).has_value());
  Enqueue(Event());
}

TEST_P(OperateSuite, MigratingDownRefusesToLoseUndeliveredMessages) {
  const auto migrator = std::move(backend().OpenMigrator(Soon())).value();
  const Uuid id = Enqueue(Event());
  EXPECT_THAT(migrator->Down({.table = fixture().table()}, Soon()), HasCode(Code::kConflict));
  EXPECT_TRUE(fixture().Find(id).has_value());
}

TEST_P(OperateSuite, AMissingTableIsNotFoundWithTheCommandThatMakesIt) {
  const auto missing = backend().OpenRelay({.table = "no_such_outbox"}, Soon());
  EXPECT_THAT(missing, HasCode(Code::kNotFound));
  EXPECT_THAT(missing.error().hint(), HasSubstr("migrate up"));
  EXPECT_THAT(missing.error().message(), HasSubstr("no_such_outbox"));
}

TEST_P(OperateSuite, TheMigratorKnowsItsTables) {
  const auto migrator = std::move(backend().OpenMigrator(Soon())).value();
  const auto tables = migrator->Tables(Soon());
  ASSERT_OK(tables);
  const std::string name = fixture().table();
  EXPECT_TRUE(std::any_of(tables->begin(), tables->end(), [&](const std::string& table) {
    return table == name || table.ends_with("." + name);
  }));
}

}  // namespace outbox::conformance
