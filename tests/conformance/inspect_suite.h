// What tenants and operators ask through an InspectStore: scopes, filters, numbered pages, counts,
// repairs. For every store, also the one in memory.
#pragma once

#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "tests/conformance/store_fixture.h"

namespace outbox::conformance {

using store::ListStatus;
using store::Scope;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using RepairOutcome = store::RepairResult::Outcome;

class InspectSuite : public StoreSuite {
 protected:
  void SetUp() override {
    StoreSuite::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    auto opened = fixture().OpenInspect();
    ASSERT_OK(opened);
    inspect_ = std::move(opened).value();
  }

  store::InspectStore& inspect() { return *inspect_; }

  static NewMessage Of(const Uuid& tenant, std::string payload = "{}") {
    NewMessage message = Event(std::move(payload));
    message.tenant_id = tenant;
    return message;
  }

  Uuid EnqueueFor(const Uuid& tenant) { return Enqueue(Of(tenant)); }

  // Enqueues a message and brings it into a state; the claim of a leased one is kept.
  Uuid Make(const Uuid& tenant, ListStatus status, const std::string& error = "failed") {
    const Uuid id = EnqueueFor(tenant);
    if (status == ListStatus::kNew) return id;
    auto relay = OpenRelay({.filter = {.tenant_id = tenant}});
    // Others of the tenant are claimed along, and released.
    auto claim = Next(*relay);
    std::vector<store::Outcome> outcomes;
    for (std::uint32_t i = 0; i < claim->messages().size(); ++i) {
      store::Outcome outcome{.index = i, .kind = Kind::kReleased};
      if (claim->messages()[i].id == id) {
        if (status == ListStatus::kProcessing) continue;
        outcome.error = error;
        outcome.kind = status == ListStatus::kDead     ? Kind::kDead
                       : status == ListStatus::kFailed ? Kind::kRetry
                                                       : Kind::kDelivered;
        if (outcome.kind == Kind::kRetry) outcome.retry_in = 1h;
      }
      outcomes.push_back(outcome);
    }
    EXPECT_THAT(Settle(*claim, outcomes), IsEmpty());
    if (status == ListStatus::kProcessing) {
      held_.push_back(std::move(claim));
      relays_.push_back(std::move(relay));
    }
    return id;
  }

  // One of each state, by state.
  std::map<ListStatus, Uuid> MakeEach(const Uuid& tenant) {
    std::map<ListStatus, Uuid> ids;
    for (const ListStatus status : {ListStatus::kProcessing, ListStatus::kDelivered,
                                    ListStatus::kDead, ListStatus::kFailed, ListStatus::kNew}) {
      ids[status] = Make(tenant, status);
    }
    return ids;
  }

  std::vector<Uuid> List(const Scope& scope, store::ListFilter filter) {
    std::vector<Uuid> ids;
    do {
      const auto page = inspect().List(scope, filter, Soon());
      EXPECT_OK(page);
      if (!page.ok()) break;
      EXPECT_LE(page->rows.size(), filter.limit);
      for (const auto& row : page->rows) ids.push_back(row.message.id);
      filter.after = page->next;
    } while (!filter.after.empty());
    return ids;
  }

  store::TenantStats StatsOf(const Scope& scope) {
    const auto stats = inspect().Stats(scope, false, Soon());
    EXPECT_OK(stats);
    return stats.ok() ? ToTenantStats(*stats) : store::TenantStats{};
  }

  RepairOutcome RetryOne(const Scope& scope, const Uuid& id) {
    const auto result = inspect().RetryOne(scope, id, nullptr, Soon());
    EXPECT_OK(result);
    return result.ok() ? result->outcome : RepairOutcome::kNotFound;
  }

  RepairOutcome DeleteOne(const Scope& scope, const Uuid& id) {
    const auto result = inspect().DeleteOne(scope, id, nullptr, Soon());
    EXPECT_OK(result);
    return result.ok() ? result->outcome : RepairOutcome::kNotFound;
  }

  const Uuid mine_ = Uuid::NewV7();
  const Uuid theirs_ = Uuid::NewV7();
  const Scope all_ = Scope::All();
  const Scope my_ = Scope::Tenant(mine_);

 private:
  std::unique_ptr<store::InspectStore> inspect_;
  std::vector<std::unique_ptr<store::RelayStore>> relays_;
  std::vector<std::unique_ptr<store::Claim>> held_;  // go before their relays
};

// --- scope ---

TEST_P(InspectSuite, ATenantSeesItsOwnRowsAndNoOthers) {
  const auto mine = MakeEach(mine_);
  const auto theirs = MakeEach(theirs_);
  const Uuid nobodys = Enqueue(Event());
  std::set<Uuid> own;
  for (const auto& [status, id] : mine) own.insert(id);
  const auto listed = List(my_, {.status = ListStatus::kAll, .limit = 2});
  EXPECT_EQ(std::set<Uuid>(listed.begin(), listed.end()), own);
  EXPECT_THAT(listed, SizeIs(5));
  for (const auto& [status, id] : theirs) {
    EXPECT_THAT(List(my_, {.status = status}), ElementsAre(mine.at(status)));
    const auto foreign = inspect().Get(my_, id, Soon());
    ASSERT_OK(foreign);
    EXPECT_FALSE(foreign->has_value());
    EXPECT_TRUE((*inspect().Get(my_, mine.at(status), Soon())).has_value());
    EXPECT_TRUE((*inspect().Get(all_, id, Soon())).has_value()) << "the control";
  }
  EXPECT_FALSE((*inspect().Get(my_, nobodys, Soon())).has_value());
  const auto stats = StatsOf(my_);
  EXPECT_EQ(stats.pending, 1);
  EXPECT_EQ(stats.processing, 1);
  EXPECT_EQ(stats.completed, 1);
  EXPECT_EQ(stats.failed, 1);
  EXPECT_EQ(stats.dead, 1);
  EXPECT_EQ(stats.total, 5);
  EXPECT_FALSE(stats.capped);
  EXPECT_EQ(StatsOf(all_).total, 11);
}

TEST_P(InspectSuite, ATenantChangesItsOwnRowsAndNoOthers) {
  const Uuid mine = Make(mine_, ListStatus::kDead);
  const Uuid theirs = Make(theirs_, ListStatus::kDead);
  EXPECT_EQ(RetryOne(my_, theirs), RepairOutcome::kNotFound);
  EXPECT_EQ(DeleteOne(my_, theirs), RepairOutcome::kNotFound);
  for (const bool dry_run : {true, false}) {
    EXPECT_EQ(*inspect().Retry(my_, {.ids = {theirs}}, dry_run, 10, Soon()), 0U);
    EXPECT_EQ(*inspect().Delete(my_, {.ids = {theirs}}, dry_run, 10, Soon()), 0U);
  }
  EXPECT_EQ(StatusOf(theirs), MessageStatus::kDead);
  EXPECT_EQ(*inspect().Retry(my_, {.filter = store::RepairFilter{}}, true, 10, Soon()), 1U);
  EXPECT_EQ(*inspect().Retry(my_, {.filter = store::RepairFilter{}}, false, 10, Soon()), 1U);
  EXPECT_EQ(StatusOf(mine), MessageStatus::kPending);
  EXPECT_EQ(StatusOf(theirs), MessageStatus::kDead);
  EXPECT_EQ(*inspect().Delete(my_, {.filter = store::RepairFilter{}}, false, 10, Soon()), 0U);
  EXPECT_EQ(*inspect().Delete(all_, {.filter = store::RepairFilter{}}, false, 10, Soon()), 1U);
}

TEST_P(InspectSuite, OneStoreServesTenantsInTurn) {
  const Uuid mine = EnqueueFor(mine_);
  const Uuid theirs = EnqueueFor(theirs_);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(List(my_, {}), ElementsAre(mine));
    EXPECT_THAT(List(all_, {}), ElementsAre(mine, theirs));
    EXPECT_THAT(List(Scope::Tenant(theirs_), {}), ElementsAre(theirs));
    EXPECT_THAT(List(Scope::Tenant(Uuid::NewV7()), {}), IsEmpty());
  }
}

TEST_P(InspectSuite, AnAggregatesHistoryStaysInScope) {
  NewMessage message = Of(mine_);
  message.aggregate_type = "order";
  message.aggregate_id = "7";
  const Uuid mine = Enqueue(message);
  message.tenant_id = theirs_;
  const Uuid theirs = Enqueue(message);
  const store::ListFilter history{.aggregate_type = "order", .aggregate_id = "7", .limit = 1};
  EXPECT_THAT(List(all_, history), ElementsAre(theirs, mine));
  EXPECT_THAT(List(my_, history), ElementsAre(mine));
}

// --- filters ---

TEST_P(InspectSuite, FailedAndNewAreCutsOfPending) {
  const auto ids = MakeEach(mine_);
  const Uuid failed = ids.at(ListStatus::kFailed);
  const Uuid fresh = ids.at(ListStatus::kNew);
  EXPECT_THAT(List(all_, {.status = ListStatus::kFailed}), ElementsAre(failed));
  EXPECT_THAT(List(all_, {.status = ListStatus::kNew}), ElementsAre(fresh));
  EXPECT_THAT(List(all_, {.status = ListStatus::kPending}), ElementsAre(fresh, failed));
  EXPECT_THAT(List(my_, {.status = ListStatus::kPending}), ElementsAre(fresh, failed));
}

TEST_P(InspectSuite, AllStatesAtOnceAreListedOfATenantOnly) {
  EXPECT_THAT(inspect().List(all_, {.status = ListStatus::kAll}, Soon()),
              HasCode(Code::kInvalidArgument));
}

TEST_P(InspectSuite, ListsByTextOfTheLastError) {
  const Uuid timeout = Make(mine_, ListStatus::kDead, "connection timeout to hook");
  Make(mine_, ListStatus::kDead, "100% refused");
  const Uuid later = Make(mine_, ListStatus::kFailed, "timeout again");
  EnqueueFor(mine_);
  EXPECT_THAT(List(my_, {.error_contains = "timeout"}), ElementsAre(later, timeout));
  EXPECT_THAT(List(all_, {.error_contains = "timeout", .limit = 1}), ElementsAre(later, timeout));
  EXPECT_THAT(List(my_, {.error_contains = "100%"}), SizeIs(1)) << "no pattern, just text";
  EXPECT_THAT(List(my_, {.error_contains = "%"}), SizeIs(1));
  EXPECT_THAT(List(my_, {.error_contains = "Timeout"}), IsEmpty());
}

TEST_P(InspectSuite, ListsByTimeOfCreation) {
  const Uuid first = EnqueueFor(mine_);
  std::this_thread::sleep_for(5ms);
  const Uuid second = EnqueueFor(mine_);
  const Timestamp at = Row(second).message.created_at;
  ASSERT_LT(Row(first).message.created_at, at);
  for (const Scope& scope : {my_, all_}) {
    EXPECT_THAT(List(scope, {.created_from = at}), ElementsAre(second)) << "at or after";
    EXPECT_THAT(List(scope, {.created_until = at}), ElementsAre(first)) << "before";
    EXPECT_THAT(List(scope, {.created_from = at, .created_until = at}), IsEmpty());
  }
}

TEST_P(InspectSuite, ListsHoldPayloadsOnlyWhereTheyAreAskedFor) {
  NewMessage message = Of(mine_, R"({"title":"Hello"})");
  message.headers = {{"colour", "red"}};
  message.aggregate_type = "order";
  message.aggregate_id = "7";
  const Uuid id = Enqueue(message);
  const auto check = [&](const Uuid& expected, const Scope& scope, store::ListFilter filter) {
    const Message stored = Row(expected).message;
    for (const bool whole : {true, false}) {
      filter.whole = whole;
      const auto page = inspect().List(scope, filter, Soon());
      ASSERT_OK(page);
      ASSERT_THAT(page->rows, SizeIs(1));
      const Message& listed = page->rows[0].message;
      EXPECT_EQ(listed.payload, whole ? stored.payload : "");
      EXPECT_EQ(listed.headers, whole ? stored.headers : Headers());
    }
  };
  check(id, my_, {});
  check(id, all_, {});
  check(id, all_, {.aggregate_type = "order", .aggregate_id = "7"});
  const auto page = inspect().ListNumbered(my_, {.whole = true}, 1, Soon());
  ASSERT_OK(page);
  ASSERT_THAT(page->rows, SizeIs(1));
  EXPECT_EQ(page->rows[0].message.payload, Row(id).message.payload);
  for (const ListStatus status : {ListStatus::kDead, ListStatus::kDelivered}) {
    check(Make(theirs_, status), all_, {.status = status});
  }
}

TEST_P(InspectSuite, RefusesFiltersItCanNotServe) {
  const auto refused = [&](const store::ListFilter& filter, const std::string& field) {
    const auto page = inspect().List(my_, filter, Soon());
    EXPECT_THAT(page, HasCode(Code::kInvalidArgument));
    EXPECT_THAT(page.error().message(), HasSubstr(field));
    EXPECT_FALSE(page.error().hint().empty());
  };
  refused({.topic = std::string(300, 'x')}, "topic");
  refused({.error_contains = "\xff"}, "error");
  refused({.key = std::string("a\0b", 3)}, "key");
  refused({.limit = 100'000}, "limit");
  refused({.limit = 2000, .whole = true}, "limit");
  refused({.after = "l.1.2"}, "after");
  refused({.after = "t.x.2"}, "after");
  EXPECT_OK(inspect().List(all_, {.after = "l.-9223372036854775808.5"}, Soon()));
  EXPECT_OK(inspect().List(all_, {.after = "l.9223372036854775806.5"}, Soon()));
}

// --- pages by number ---

TEST_P(InspectSuite, PagesByNumberTileTheListNewestFirst) {
  std::vector<Uuid> newest_first;
  for (int i = 0; i < 5; ++i) {
    newest_first.insert(newest_first.begin(),
                        Make(mine_, i % 2 == 0 ? ListStatus::kDelivered : ListStatus::kDead));
    EnqueueFor(theirs_);
  }
  std::vector<Uuid> listed;
  for (std::size_t number = 1; number <= 4; ++number) {
    const auto page =
        inspect().ListNumbered(my_, {.status = ListStatus::kAll, .limit = 2}, number, Soon());
    ASSERT_OK(page);
    EXPECT_EQ(page->total, 5);
    EXPECT_FALSE(page->total_capped);
    EXPECT_EQ(page->next.empty(), number >= 3) << number;
    for (const auto& row : page->rows) listed.push_back(row.message.id);
  }
  EXPECT_EQ(listed, newest_first);
  const auto dead =
      inspect().ListNumbered(my_, {.status = ListStatus::kDead, .limit = 1}, 2, Soon());
  ASSERT_OK(dead);
  EXPECT_EQ(dead->total, 2);
  ASSERT_THAT(dead->rows, SizeIs(1));
  EXPECT_EQ(dead->rows[0].message.id, newest_first[3]);
}

TEST_P(InspectSuite, ANumberedPageGoesOnByItsCursor) {
  for (int i = 0; i < 3; ++i) EnqueueFor(mine_);
  const auto first =
      inspect().ListNumbered(my_, {.status = ListStatus::kAll, .limit = 1}, 1, Soon());
  ASSERT_OK(first);
  const auto rest = List(my_, {.status = ListStatus::kAll, .limit = 1, .after = first->next});
  EXPECT_THAT(rest, SizeIs(2));
}

TEST_P(InspectSuite, PagesByNumberAreRefusedWhereTheyWouldBeSlow) {
  const store::ListFilter filter{.status = ListStatus::kAll, .limit = 100};
  EXPECT_THAT(inspect().ListNumbered(my_, filter, 0, Soon()), HasCode(Code::kInvalidArgument));
  const auto deep = inspect().ListNumbered(my_, filter, 20'000, Soon());
  EXPECT_THAT(deep, HasCode(Code::kInvalidArgument));
  EXPECT_THAT(deep.error().hint(), HasSubstr("after"));
  EXPECT_THAT(inspect().ListNumbered(all_, {}, 1, Soon()), HasCode(Code::kInvalidArgument));
}

// --- repairs ---

TEST_P(InspectSuite, OneMessageIsRetriedWhenItFailedOrIsDead) {
  const auto ids = MakeEach(mine_);
  for (const ListStatus status : {ListStatus::kFailed, ListStatus::kDead}) {
    const Uuid id = ids.at(status);
    EXPECT_EQ(RetryOne(my_, id), RepairOutcome::kDone);
    const auto row = Row(id);
    EXPECT_EQ(row.status, MessageStatus::kPending);
    EXPECT_EQ(row.message.attempt, 0);
    EXPECT_EQ(row.locked_by, "");
    EXPECT_FALSE(row.locked_until.has_value());
    EXPECT_FALSE(row.processed_at.has_value());
    EXPECT_EQ(row.last_error, "failed") << "kept until the next outcome";
    EXPECT_EQ(RetryOne(my_, id), RepairOutcome::kRefused) << "it waits already";
  }
  for (const ListStatus status :
       {ListStatus::kNew, ListStatus::kProcessing, ListStatus::kDelivered}) {
    const auto before = StatusOf(ids.at(status));
    const auto refused = inspect().RetryOne(my_, ids.at(status), nullptr, Soon());
    ASSERT_OK(refused);
    EXPECT_EQ(refused->outcome, RepairOutcome::kRefused);
    EXPECT_EQ(refused->status, before);
    EXPECT_EQ(StatusOf(ids.at(status)), before);
  }
  EXPECT_EQ(RetryOne(my_, Uuid::NewV7()), RepairOutcome::kNotFound);
  const auto relay = OpenRelay();
  EXPECT_THAT(NextFound(*relay)->messages(), SizeIs(3)) << "due at once";
}

TEST_P(InspectSuite, OneMessageIsDeletedWhenNobodyIsDeliveringIt) {
  const auto ids = MakeEach(mine_);
  const Uuid delivered = ids.at(ListStatus::kDelivered);
  EXPECT_EQ(*inspect().Delete(all_, {.ids = {delivered}}, false, 1, Soon()), 0U)
      << "many at a time, only what was not delivered";
  for (const ListStatus status :
       {ListStatus::kNew, ListStatus::kFailed, ListStatus::kDead, ListStatus::kDelivered}) {
    EXPECT_EQ(DeleteOne(my_, ids.at(status)), RepairOutcome::kDone);
    EXPECT_FALSE(fixture().Find(ids.at(status)).has_value());
    EXPECT_EQ(DeleteOne(my_, ids.at(status)), RepairOutcome::kNotFound);
  }
  EXPECT_EQ(DeleteOne(my_, ids.at(ListStatus::kProcessing)), RepairOutcome::kRefused);
  EXPECT_TRUE(fixture().Find(ids.at(ListStatus::kProcessing)).has_value());
}

TEST_P(InspectSuite, RepairsByFilterTakeWhatMatchesAndNothingElse) {
  const Uuid timeout = Make(mine_, ListStatus::kDead, "timeout one");
  const Uuid failed = Make(mine_, ListStatus::kFailed, "timeout two");
  const Uuid refused = Make(mine_, ListStatus::kDead, "refused");
  const auto retry = [&](const store::RepairFilter& filter, bool dry_run) {
    return inspect().Retry(all_, {.filter = filter}, dry_run, 100, Soon()).value();
  };
  EXPECT_EQ(retry({.error_contains = "timeout"}, true), 1U);
  EXPECT_EQ(retry({.error_contains = "nothing"}, true), 0U);
  EXPECT_EQ(retry({.status = ListStatus::kFailed}, true), 1U);
  EXPECT_EQ(retry({.topic = "a.b.c.v1"}, true), 0U);
  const Timestamp at = Row(refused).message.created_at;
  EXPECT_EQ(retry({.created_from = at + 1h}, true), 0U);
  EXPECT_EQ(retry({.created_until = at + 1h}, true), 2U);
  EXPECT_EQ(retry({.error_contains = "timeout"}, false), 1U);
  EXPECT_EQ(StatusOf(timeout), MessageStatus::kPending);
  EXPECT_EQ(StatusOf(refused), MessageStatus::kDead);
  EXPECT_EQ(Row(failed).message.attempt, 1);
  EXPECT_EQ(retry({.status = ListStatus::kFailed}, false), 1U);
  EXPECT_EQ(Row(failed).message.attempt, 0);
  EXPECT_THAT(
      inspect().Delete(all_, {.filter = store::RepairFilter{.status = ListStatus::kDelivered}},
                       false, 100, Soon()),
      HasCode(Code::kInvalidArgument));
}

TEST_P(InspectSuite, ARetryWhileAMessageIsDeliveredChangesNothingAndLosesNothing) {
  const Uuid id = EnqueueFor(mine_);
  const auto relay = OpenRelay();
  SettleAll(*Next(*relay), Kind::kRetry);
  const auto claim = NextFound(*relay);
  ASSERT_THAT(claim->messages(), SizeIs(1));
  EXPECT_EQ(RetryOne(my_, id), RepairOutcome::kRefused);
  EXPECT_EQ(DeleteOne(my_, id), RepairOutcome::kRefused);
  EXPECT_EQ(*inspect().Retry(all_, {.ids = {id}}, false, 1, Soon()), 0U);
  EXPECT_THAT(SettleAll(*claim, Kind::kDelivered), IsEmpty());
  EXPECT_EQ(StatusOf(id), MessageStatus::kDelivered);
  EXPECT_EQ(Row(id).message.attempt, 2);
}

TEST_P(InspectSuite, AMessageWhoseLeaseExpiredCanBeRepaired) {
  std::vector<Uuid> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(EnqueueFor(mine_));
  const auto relay = OpenRelay();
  const auto claim = Next(*relay, 100, 1ms);
  ASSERT_THAT(claim->messages(), SizeIs(4));
  const auto done = [&](auto repair) {
    return Eventually([&] { return repair() == RepairOutcome::kDone; });
  };
  EXPECT_TRUE(done([&] { return RetryOne(my_, ids[0]); }));
  EXPECT_EQ(StatusOf(ids[0]), MessageStatus::kPending);
  EXPECT_EQ(Row(ids[0]).message.attempt, 0);
  EXPECT_FALSE(Row(ids[0]).locked_until.has_value());
  EXPECT_TRUE(done([&] { return DeleteOne(my_, ids[1]); }));
  EXPECT_EQ(*inspect().Delete(all_, {.filter = store::RepairFilter{.status = ListStatus::kFailed}},
                              true, 100, Soon()),
            0U)
      << "a filter takes what a list with it shows";
  EXPECT_EQ(*inspect().Delete(all_, {.ids = {ids[2]}}, true, 100, Soon()), 1U);
  EXPECT_EQ(*inspect().Delete(all_, {.ids = {ids[2]}}, false, 100, Soon()), 1U);
  EXPECT_EQ(*inspect().Retry(all_, {.ids = {ids[3]}}, false, 100, Soon()), 1U);
  EXPECT_THAT(SettleAll(*claim, Kind::kDelivered), SizeIs(4)) << "the lease is lost";
  for (const int i : {1, 2}) EXPECT_FALSE(fixture().Find(ids[i]).has_value());
  EXPECT_THAT(NextFound(*relay)->messages(), SizeIs(2));
}

TEST_P(InspectSuite, ARefusalSaysUntilWhenAMessageIsLeased) {
  const Uuid id = Make(mine_, ListStatus::kProcessing);
  for (const auto& refused : {inspect().RetryOne(my_, id, nullptr, Soon()),
                              inspect().DeleteOne(my_, id, nullptr, Soon())}) {
    ASSERT_OK(refused);
    EXPECT_EQ(refused->outcome, RepairOutcome::kRefused);
    EXPECT_EQ(refused->locked_until, Row(id).locked_until);
    EXPECT_TRUE(refused->locked_until.has_value());
  }
}

TEST_P(InspectSuite, RetriesRacingADeliveryLoseAndRepeatNothing) {
  constexpr int kMessages = 20;
  constexpr int kClaimsEach = 4;
  std::vector<Uuid> ids;
  for (int i = 0; i < kMessages; ++i) ids.push_back(EnqueueFor(mine_));
  std::atomic<bool> done = false;
  int retried = 0;
  std::thread impatient([&] {
    while (!done) {
      for (const Uuid& id : ids) retried += RetryOne(my_, id) == RepairOutcome::kDone;
    }
  });
  const auto relay = OpenRelay();
  std::map<Uuid, int> claims;
  int delivered = 0;
  EXPECT_TRUE(Eventually([&] {
    const auto claim = Next(*relay);
    std::vector<store::Outcome> outcomes;
    for (std::uint32_t i = 0; i < claim->messages().size(); ++i) {
      const bool last = ++claims[claim->messages()[i].id] == kClaimsEach;
      delivered += last;
      // Only a retry by hand brings it back in time.
      outcomes.push_back({.index = i,
                          .kind = last ? Kind::kDelivered : Kind::kRetry,
                          .retry_in = std::chrono::hours(1),
                          .error = "x"});
    }
    EXPECT_THAT(Settle(*claim, outcomes), IsEmpty()) << "nobody took what was being delivered";
    return delivered >= kMessages;
  }));
  done = true;
  impatient.join();
  EXPECT_EQ(retried, kMessages * (kClaimsEach - 1));
  for (const Uuid& id : ids) {
    EXPECT_EQ(claims[id], kClaimsEach);
    EXPECT_EQ(StatusOf(id), MessageStatus::kDelivered);
  }
}

}  // namespace outbox::conformance
