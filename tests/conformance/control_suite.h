// Heartbeats, pauses and the audit, on any store.
#pragma once

#include <algorithm>

#include "base/text.h"
#include "store/control_store.h"
#include "tests/conformance/store_fixture.h"

namespace outbox::conformance {

class ControlSuite : public StoreSuite {
 protected:
  void SetUp() override {
    StoreSuite::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    control_ = fixture().OpenControl();
    table_ = fixture().backend() != nullptr ? fixture().backend()->DisplayName(fixture().table())
                                            : fixture().table();
  }

  // A process of this test; others may share the database.
  store::ProcessInfo Process(const std::string& name) const {
    return {.id = table_ + ":" + name, .host = "here", .pid = 7, .version = "1.2.3"};
  }
  store::RelayBeat Relay(const std::string& sink = "") const {
    return {.table = table_, .sink = sink, .state = "running", .leading = {}};
  }
  std::vector<store::RelayPause> Beat(const std::string& process,
                                      const std::vector<store::RelayBeat>& relays,
                                      std::chrono::milliseconds interval = 1h) {
    const auto pauses = control_->Beat(Process(process), relays, interval, Soon());
    EXPECT_OK(pauses);
    return pauses.ok() ? *pauses : std::vector<store::RelayPause>{};
  }
  std::vector<store::ListedRelay> Listed() {
    auto listed = control_->Relays(Soon());
    EXPECT_OK(listed);
    if (!listed.ok()) return {};
    std::erase_if(*listed, [&](const auto& one) { return one.relay.table != table_; });
    return *listed;
  }
  std::vector<store::AuditRecord> Audited() {
    const auto page = control_->ListAudit({.table = table_}, Soon());
    EXPECT_OK(page);
    return page.ok() ? page->records : std::vector<store::AuditRecord>{};
  }
  static std::size_t Count(const Result<std::size_t>& count) {
    EXPECT_OK(count);
    return count.ok() ? *count : 99;
  }
  std::vector<Uuid> MakeDead(int count) {
    const auto ids = EnqueueNumbered(count);
    const auto relay = OpenRelay();
    SettleAll(*Next(*relay), Kind::kDead);
    return ids;
  }
  static store::RepairTarget AllDead(std::optional<store::Audit> audit) {
    return {.ids = {}, .filter = store::RepairFilter{}, .audit = std::move(audit)};
  }
  static store::Audit By(std::string actor) {
    return {.actor = std::move(actor),
            .request_id = "r-1",
            .filter = R"({"status":"dead"})",
            .matched = 5};
  }

  // Pauses and resumes a table, in turn, until the audit has `count` records more.
  void RecordPauses(const std::string& table, const std::string& actor, int count) {
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(Count(i % 2 == 0 ? control_->Pause({.table = table, .by = actor}, By(actor), Soon())
                                 : control_->Resume(table, "", By(actor), Soon())),
                1u);
    }
  }
  // Makes what an actor did in tables of this test older.
  void AgeAudit(const std::string& actor, int days) {
    auto session = fixture().backend()->OpenSession(Soon());
    ASSERT_OK(session);
    const bool postgres = fixture().backend()->dialect() == Dialect::kPostgres;
    ASSERT_OK((*session)->Execute(
        base::StrCat(postgres ? "UPDATE outbox.audit SET at = at - interval '1 day' * "
                              : "UPDATE outbox_audit SET at = at - 86400000 * ",
                     days, " WHERE actor = '", actor, "' AND table_name LIKE '", table_, "%'")));
  }

  std::unique_ptr<store::ControlStore> control_;
  std::string table_;
};

TEST_P(ControlSuite, ListsTheRelaysOfEveryProcess) {
  store::RelayBeat rabbit = Relay("rabbit");
  rabbit.leading = true;
  rabbit.in_flight = 3;
  rabbit.delivered = 40;
  rabbit.failed = 5;
  Beat("a", {Relay(), rabbit});
  Beat("b", {Relay()});
  auto listed = Listed();
  ASSERT_EQ(listed.size(), 3u);
  const auto found = std::find_if(listed.begin(), listed.end(),
                                  [](const auto& one) { return one.relay.sink == "rabbit"; });
  ASSERT_NE(found, listed.end());
  EXPECT_EQ(found->process.id, Process("a").id);
  EXPECT_EQ(found->process.host, "here");
  EXPECT_EQ(found->process.pid, 7);
  EXPECT_EQ(found->process.version, "1.2.3");
  EXPECT_EQ(found->relay.state, "running");
  EXPECT_EQ(found->relay.leading, true);
  EXPECT_EQ(found->relay.in_flight, 3u);
  EXPECT_EQ(found->relay.delivered, 40u);
  EXPECT_EQ(found->relay.failed, 5u);
  EXPECT_FALSE(found->gone);
  EXPECT_EQ(found->started_at, found->beat_at);
  EXPECT_EQ(listed[0].relay.leading, std::nullopt);

  // The next beat writes the same rows anew.
  std::this_thread::sleep_for(5ms);
  rabbit.state = "paused";
  rabbit.leading = false;
  Beat("a", {Relay(), rabbit});
  listed = Listed();
  ASSERT_EQ(listed.size(), 3u);
  const auto again = std::find_if(listed.begin(), listed.end(),
                                  [](const auto& one) { return one.relay.sink == "rabbit"; });
  EXPECT_EQ(again->relay.state, "paused");
  EXPECT_EQ(again->relay.leading, false);
  EXPECT_GT(again->beat_at, again->started_at);

  EXPECT_OK(control_->Leave(Process("a"), Soon()));
  ASSERT_EQ(Listed().size(), 1u);
  EXPECT_EQ(Listed()[0].process.id, Process("b").id);
}

TEST_P(ControlSuite, AProcessThatDoesNotBeatForThreeIntervalsIsGone) {
  Beat("gone", {Relay()}, 1ms);
  Beat("slow", {Relay()}, 1h);
  EXPECT_TRUE(Eventually([&] { return Listed().back().gone; }));
  const auto listed = Listed();
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0].process.id, Process("slow").id) << "those that live come first";
  EXPECT_FALSE(listed[0].gone);
  EXPECT_GT(listed[1].beat_age, 3ms);
}

TEST_P(ControlSuite, BeatsRemoveWhatIsADayOldABatchAtATime) {
  if (fixture().backend() == nullptr) GTEST_SKIP() << "rows can not be made older here";
  const bool postgres = fixture().backend()->dialect() == Dialect::kPostgres;
  constexpr std::size_t kOld = store::kOldRelaysRemovedMax + 50;
  std::vector<store::RelayBeat> many;
  for (std::size_t i = 0; i < kOld; ++i) many.push_back(Relay("s" + std::to_string(i)));
  Beat("old", many);
  Beat("day", {Relay("young")});
  const auto age = [&](const std::string& process, int hours) {
    auto session = fixture().backend()->OpenSession(Soon());
    ASSERT_OK(session);
    ASSERT_OK((*session)->Execute(
        postgres
            ? "UPDATE outbox.relay SET beat_at = now() - interval '" + std::to_string(hours) +
                  " hours' WHERE process = '" + Process(process).id + "'"
            : "UPDATE outbox_relay SET beat_at = beat_at - " + std::to_string(hours * 3'600'000) +
                  " WHERE process = '" + Process(process).id + "'"));
  };
  age("old", 25);
  age("day", 23);
  Beat("new", {Relay()});
  // On a database that others beat on, they remove some as well; until they have, these are passed
  // over.
  const std::size_t left = kOld - store::kOldRelaysRemovedMax + 2;
  EXPECT_TRUE(Eventually([&] {
    const std::size_t listed = Listed().size();
    return listed == left || (postgres && listed < left);
  }));
  EXPECT_TRUE(Eventually([&] {
    Beat("new", {Relay()});
    return Listed().size() == 2;
  }));
  EXPECT_OK(control_->Leave(Process("day"), Soon()));
  EXPECT_OK(control_->Leave(Process("new"), Soon()));
}

TEST_P(ControlSuite, PausesLastUntilTheyAreResumed) {
  const auto pause = [&](const std::string& sink) {
    const auto changed = control_->Pause(
        {.table = table_, .sink = sink, .since = {}, .by = "olga", .reason = "repair"}, By("olga"),
        Soon());
    EXPECT_OK(changed);
    return Count(changed);
  };
  const auto let_go = [&](const std::string& sink) {
    return control_->Resume(table_, sink, By("otto"), Soon());
  };
  EXPECT_TRUE(Beat("a", {Relay(), Relay("rabbit")}).empty());
  EXPECT_EQ(pause("rabbit"), 1u);
  EXPECT_EQ(pause("rabbit"), 0u) << "it is paused already";
  auto pauses = Beat("a", {Relay(), Relay("rabbit")});
  ASSERT_EQ(pauses.size(), 1u);
  EXPECT_EQ(pauses[0].table, table_);
  EXPECT_EQ(pauses[0].sink, "rabbit");
  EXPECT_EQ(pauses[0].by, "olga");
  EXPECT_EQ(pauses[0].reason, "repair");
  EXPECT_GT(pauses[0].since, Timestamp{});
  EXPECT_NE(store::FindPause(pauses, table_, "rabbit"), nullptr);
  EXPECT_EQ(store::FindPause(pauses, table_, "nats"), nullptr);
  // Nobody else's.
  store::RelayBeat other = Relay();
  other.table = table_ + "_other";
  EXPECT_TRUE(Beat("b", {other}).empty());
  EXPECT_OK(control_->Leave(Process("b"), Soon()));

  EXPECT_EQ(pause(""), 1u);
  pauses = Beat("a", {Relay()});
  ASSERT_EQ(pauses.size(), 2u);
  EXPECT_NE(store::FindPause(pauses, table_, "nats"), nullptr);
  EXPECT_THAT(let_go("rabbit"), HasCode(Code::kConflict));
  EXPECT_EQ(Count(let_go("")), 2u);
  EXPECT_EQ(Count(let_go("")), 0u);
  EXPECT_TRUE(Beat("a", {Relay()}).empty());
  EXPECT_EQ(pause("rabbit"), 1u);
  EXPECT_EQ(Count(let_go("nats")), 0u);
  EXPECT_EQ(Count(let_go("rabbit")), 1u);

  // Each change is in the audit, newest first; what changed nothing is not.
  std::vector<std::string> actions;
  for (const auto& record : Audited()) {
    actions.push_back(record.action + " " + record.audit.actor + " " +
                      std::to_string(record.changed));
  }
  EXPECT_THAT(actions, ::testing::ElementsAre("resume otto 1", "pause olga 1", "resume otto 2",
                                              "pause olga 1", "pause olga 1"));
}

TEST_P(ControlSuite, ARepairIsRecordedWithItsChange) {
  const auto inspect = fixture().OpenInspect().value();
  const auto ids = MakeDead(5);
  const store::Scope all = store::Scope::All();
  EXPECT_EQ(Count(inspect->Retry(all, AllDead(By("olga")), true, 100, Soon())), 5u);
  EXPECT_EQ(Count(inspect->Delete(all, AllDead({}), false, 1, Soon())), 1u);
  EXPECT_TRUE(Audited().empty()) << "a rehearsal, and a change nobody wants recorded";

  EXPECT_EQ(Count(inspect->Retry(all, AllDead(By("olga")), false, 2, Soon())), 2u);
  ASSERT_EQ(Audited().size(), 1u);
  const store::AuditRecord first = Audited()[0];
  EXPECT_EQ(first.action, "retry");
  EXPECT_EQ(first.table, table_);
  EXPECT_EQ(first.changed, 2u);
  EXPECT_EQ(first.audit.actor, "olga");
  EXPECT_EQ(first.audit.request_id, "r-1");
  EXPECT_EQ(first.audit.filter, R"({"status":"dead"})");
  EXPECT_EQ(first.audit.matched, 5u);
  EXPECT_GT(first.at, Timestamp{});

  const store::Audit otto = By("otto");
  ASSERT_OK(inspect->RetryOne(all, ids[3], &otto, Soon()));
  EXPECT_EQ(inspect->RetryOne(all, ids[3], &otto, Soon())->outcome,
            store::RepairResult::Outcome::kRefused);
  EXPECT_EQ(inspect->DeleteOne(all, ids[4], &otto, Soon())->outcome,
            store::RepairResult::Outcome::kDone);
  EXPECT_EQ(inspect->DeleteOne(all, ids[4], &otto, Soon())->outcome,
            store::RepairResult::Outcome::kNotFound);
  EXPECT_EQ(Count(inspect->Delete(all, AllDead(By("olga")), false, 100, Soon())), 0u);
  std::vector<std::string> lines;
  for (const auto& record : Audited()) lines.push_back(record.action + " " + record.audit.actor);
  EXPECT_THAT(lines, ::testing::ElementsAre("delete otto", "retry otto", "retry olga"));

  // By pages: each record once.
  std::vector<std::string> paged;
  store::AuditFilter filter{.table = table_, .limit = 1};
  do {
    const auto page = control_->ListAudit(filter, Soon());
    ASSERT_OK(page);
    for (const auto& record : page->records) {
      paged.push_back(record.action + " " + record.audit.actor);
    }
    filter.after = page->next;
  } while (!filter.after.empty() && paged.size() < 10);
  EXPECT_EQ(paged, lines);
  const auto anywhere = control_->ListAudit({.table = "", .limit = 500}, Soon());
  ASSERT_OK(anywhere);
  EXPECT_GE(anywhere->records.size(), 3u);
  for (const char* bad : {"x", "-1", "0", "1 ", "99999999999999999999"}) {
    EXPECT_THAT(control_->ListAudit({.table = "", .after = bad}, Soon()),
                HasCode(Code::kInvalidArgument));
  }
}

TEST_P(ControlSuite, TheAuditIsPurgedOldestFirstABatchAtATime) {
  if (fixture().backend() == nullptr) GTEST_SKIP() << "records can not be made older here";
  const auto clean = fixture().backend()->OpenClean(fixture().table(), Soon());
  ASSERT_OK(clean);
  const auto purge = [&](int days, std::size_t limit) {
    return Count((*clean)->PurgeAudit(std::chrono::hours(24 * days), limit, Soon()));
  };
  const std::string other = table_ + "_other";
  RecordPauses(other, "olaf", 2);
  RecordPauses(table_, "olga", 6);
  AgeAudit("olga", 400);
  AgeAudit("olaf", 400);
  RecordPauses(table_, "otto", 2);
  AgeAudit("otto", 29);

  EXPECT_EQ(purge(401, 100), 0u) << "not old enough";
  EXPECT_EQ(purge(365, 4), 4u);
  EXPECT_EQ(purge(365, 4), 2u);
  EXPECT_EQ(purge(365, 4), 0u);
  std::vector<std::string> left;
  for (const auto& record : Audited()) left.push_back(record.audit.actor);
  EXPECT_THAT(left, ::testing::ElementsAre("otto", "otto"));

  EXPECT_EQ(purge(0, 100), 0u) << "the last month stays whatever is asked for";
  AgeAudit("otto", 2);
  EXPECT_EQ(purge(0, 100), 2u);
  EXPECT_TRUE(Audited().empty());
  const auto others = control_->ListAudit({.table = other}, Soon());
  ASSERT_OK(others);
  EXPECT_EQ(others->records.size(), 2u) << "another table's";
}

TEST_P(ControlSuite, AChangeThatCanNotBeRecordedDoesNotHappen) {
  if (fixture().backend() == nullptr) GTEST_SKIP() << "nothing can fail here";
  const auto inspect = fixture().OpenInspect().value();
  const auto ids = MakeDead(2);
  store::Audit broken = By("olga");
  broken.filter = "{";
  const store::Scope all = store::Scope::All();
  EXPECT_FALSE(inspect->Retry(all, AllDead(broken), false, 100, Soon()).ok());
  EXPECT_FALSE(inspect->Delete(all, AllDead(broken), false, 100, Soon()).ok());
  EXPECT_FALSE(inspect->DeleteOne(all, ids[0], &broken, Soon()).ok());
  EXPECT_FALSE(inspect->RetryOne(store::Scope::Tenant(Uuid::NewV7()), ids[0], nullptr, Soon())
                   ->status.has_value());
  EXPECT_FALSE(control_->Pause({.table = table_}, broken, Soon()).ok());
  EXPECT_EQ(StatusOf(ids[0]), MessageStatus::kDead);
  EXPECT_EQ(StatusOf(ids[1]), MessageStatus::kDead);
  EXPECT_TRUE(Beat("a", {Relay()}).empty());
  EXPECT_OK(control_->Leave(Process("a"), Soon()));
  EXPECT_TRUE(Audited().empty());
  EXPECT_EQ(Count(inspect->Retry(all, AllDead(By("olga")), false, 100, Soon())), 2u);
  EXPECT_EQ(Audited().size(), 1u);
}

}  // namespace outbox::conformance
