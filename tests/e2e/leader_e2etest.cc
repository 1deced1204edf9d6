// Single-active relays: one dispatches at a time, and another takes over when it is gone.
//
// The judge is the database: a trigger writes down each lease and each settle with its token, by
// the database's clock. A claim is being dispatched from its lease to its settle; claims of two
// relays must not overlap.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/e2e/support/dialects.h"
#include "tests/e2e/support/producer.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;
using std::chrono::milliseconds;

constexpr const char* kAuditPostgres = R"(
  CREATE TABLE audit (n bigserial, token text, at double precision);
  CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO audit (token, at) VALUES (
      CASE WHEN new.status = 'processing' THEN new.locked_by ELSE old.locked_by END,
      extract(epoch from clock_timestamp()));
    RETURN NULL; END $$;
  CREATE TRIGGER audit AFTER UPDATE OF status ON orders_outbox FOR EACH ROW
    WHEN (new.status IN ('processing', 'delivered')) EXECUTE FUNCTION audit())";

constexpr const char* kAuditSqlite = R"(
  CREATE TABLE audit (n INTEGER PRIMARY KEY, token text, at double);
  CREATE TRIGGER audit AFTER UPDATE OF status ON orders_outbox
    WHEN new.status IN ('processing', 'delivered') BEGIN
    INSERT INTO audit (token, at) VALUES (
      CASE WHEN new.status = 'processing' THEN new.locked_by ELSE old.locked_by END,
      (julianday('now') - 2440587.5) * 86400.0);
    END)";

// Tokens are "RELAY/NUMBER".
std::string RelayOf(const std::string& token) { return token.substr(0, token.find('/')); }

struct Dispatch {
  std::string relay;
  double from;
  double to;  // as `from` when it was never settled
};

std::vector<Dispatch> Dispatches(SqlConnection& sql) {
  std::map<std::string, Dispatch> by_token;
  for (const auto& row : sql.Query("SELECT token, at FROM audit ORDER BY n")) {
    const double at = std::stod(row[1]);
    auto& dispatch = by_token.try_emplace(row[0], Dispatch{RelayOf(row[0]), at, at}).first->second;
    dispatch.to = std::max(dispatch.to, at);
  }
  std::vector<Dispatch> dispatches;
  for (auto& [token, dispatch] : by_token) dispatches.push_back(std::move(dispatch));
  std::sort(dispatches.begin(), dispatches.end(),
            [](const Dispatch& a, const Dispatch& b) { return a.from < b.from; });
  return dispatches;
}

struct Sharing {
  std::size_t leaders = 0;       // relays that dispatched at all
  double overlap_ms_max = -1e9;  // how long two dispatched at once, at worst; negative is a gap
};

Sharing Judge(const std::vector<Dispatch>& dispatches) {
  Sharing sharing;
  std::map<std::string, double> busy_until;
  for (const Dispatch& dispatch : dispatches) {
    for (const auto& [relay, until] : busy_until) {
      if (relay == dispatch.relay) continue;
      sharing.overlap_ms_max = std::max(sharing.overlap_ms_max, (until - dispatch.from) * 1000);
    }
    double& until = busy_until.try_emplace(dispatch.relay, 0).first->second;
    until = std::max(until, dispatch.to);
  }
  sharing.leaders = busy_until.size();
  return sharing;
}

class Leader : public OnDialect {
 protected:
  static constexpr std::size_t kRelays = 3;
  static constexpr std::size_t kWindow = 40;

  void SetUp() override {
    if (GetParam() == Dialect::kPostgres) OUTBOX_REQUIRE_POSTGRES();
    stage_ = Stage::Make(GetParam());
    ASSERT_NE(stage_, nullptr);
    ASSERT_TRUE(stage_->sql().Execute(Pick(kAuditPostgres, kAuditSqlite))) << stage_->sql().error();
    producer_.emplace(stage_->url(), Load{.per_transaction = 10, .pause = milliseconds(10)});
    for (std::size_t i = 0; i < kRelays; ++i) StartOne();
    ASSERT_TRUE(WaitFor([&] { return !Leading().empty(); }));
  }

  void StartOne() {
    const std::string name = StrCat("relay-", started_++);
    relays_[name] = stage_->StartRelay(
        name, {"--single-active", "--json", "--batch-size", "20", "--window",
               std::to_string(kWindow), "--lease", "5s", "--poll-interval", "50ms"});
  }

  // The one that leased or settled last.
  std::string Leading() {
    const auto rows = stage_->sql().Query("SELECT token FROM audit ORDER BY n DESC LIMIT 1");
    return rows.empty() ? "" : RelayOf(rows[0][0]);
  }

  bool AnotherLeadsThan(const std::string& former) {
    return WaitFor([&] { return Leading() != former; });
  }

  // A process that is frozen in a write transaction keeps an SQLite file locked for good. It has
  // none open while we do.
  bool Freeze(const std::string& name) {
    const bool locks = GetParam() == Dialect::kSqlite;
    if (locks && !stage_->sql().Execute("BEGIN IMMEDIATE")) return false;
    relays_.at(name)->Signal(SIGSTOP);
    const bool stopped = WaitFor([&] { return relays_.at(name)->Stopped(); });
    return (!locks || stage_->sql().Execute("ROLLBACK")) && stopped;
  }

  void FinishAndJudge(std::size_t faults, std::size_t leaders_min, std::size_t bound) {
    producer_->Stop();
    ASSERT_TRUE(WaitFor([&] { return stage_->Unfinished() == 0; }));
    const Sharing sharing = Judge(Dispatches(stage_->sql()));
    const Verdict verdict = stage_->Judge();
    PrintVerdict(Name(), verdict, faults, bound);
    std::printf("leaders=%zu max overlap=%.1f ms\n", sharing.leaders, sharing.overlap_ms_max);
    EXPECT_EQ(verdict.lost, 0u);
    EXPECT_EQ(verdict.phantom, 0u);
    EXPECT_LE(verdict.duplicated, bound);
    EXPECT_GE(sharing.leaders, leaders_min);
    EXPECT_LT(sharing.overlap_ms_max, 0) << "two relays dispatched at once";
  }

  std::unique_ptr<Stage> stage_;
  std::optional<Producer> producer_;
  std::map<std::string, std::unique_ptr<Process>> relays_;
  std::size_t started_ = 0;
};
OUTBOX_ON_EVERY_DIALECT(Leader);

TEST_P(Leader, IsReplacedWhenItCrashes) {
  constexpr std::size_t kCrashes = 4;
  for (std::size_t i = 0; i < kCrashes; ++i) {
    const std::string leader = Leading();
    relays_.at(leader)->Kill();
    ASSERT_TRUE(AnotherLeadsThan(leader));
    StartOne();
  }
  FinishAndJudge(kCrashes, kCrashes + 1, kCrashes * kWindow);
}

TEST_P(Leader, IsReplacedWhenItIsFrozenAndStandsByWhenItWakesUp) {
  constexpr std::size_t kFreezes = 3;
  for (std::size_t i = 0; i < kFreezes; ++i) {
    const std::string leader = Leading();
    ASSERT_TRUE(Freeze(leader));
    ASSERT_TRUE(AnotherLeadsThan(leader));
    // Until then it may record what it had published before it was frozen, and rightly so.
    ASSERT_TRUE(WaitFor([&] {
      return stage_->sql().Number(StrCat("SELECT count(*) FROM ", kTable, " WHERE locked_by LIKE '",
                                         leader, "/%'")) == 0;
    })) << "its messages were not taken over";
    relays_.at(leader)->Signal(SIGCONT);
    ASSERT_TRUE(WaitFor([&] {
      return relays_.at(leader)->Errors().find("leadership given up") != std::string::npos;
    })) << relays_.at(leader)->Errors();
  }
  FinishAndJudge(kFreezes, 2, kFreezes * kWindow);
}

TEST_P(Leader, HandsOverWhenItIsStopped) {
  constexpr std::size_t kStops = 4;
  for (std::size_t i = 0; i < kStops; ++i) {
    const std::string leader = Leading();
    relays_.at(leader)->Signal(SIGTERM);
    ASSERT_EQ(relays_.at(leader)->Wait(kPatience), 0);
    EXPECT_NE(relays_.at(leader)->Errors().find("leadership gained"), std::string::npos);
    ASSERT_TRUE(AnotherLeadsThan(leader));
    StartOne();
  }
  FinishAndJudge(kStops, kStops + 1, 0);
}

TEST_P(Leader, IsReplacedWhenItLosesItsSession) {
  if (GetParam() == Dialect::kSqlite) GTEST_SKIP() << "SQLite has no sessions to lose";
  constexpr std::size_t kDisconnects = 6;
  for (std::size_t i = 0; i < kDisconnects; ++i) {
    // A leader marks two sessions; one at a time is cut. With one cut the other still keeps a
    // successor from dispatching.
    const std::string cut = StrCat(
        "SELECT count(pg_terminate_backend(pid)) FROM (SELECT DISTINCT pid FROM pg_locks "
        "WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM "
        "pg_database WHERE datname = current_database()) ORDER BY pid ",
        i % 2 == 0 ? "ASC" : "DESC", " LIMIT 1) AS one");
    ASSERT_TRUE(WaitFor([&] { return stage_->sql().Number(cut) == 1; }));
    const std::size_t before = stage_->Delivered();
    ASSERT_TRUE(WaitFor([&] { return stage_->Delivered() > before + 100; }));
  }
  // The one that lost its session may win the next election, so there is no least number of
  // leaders.
  FinishAndJudge(kDisconnects, 1, kDisconnects * kWindow);
}

TEST_P(Leader, TheJudgeSeesRelaysThatDispatchAtOnce) {
  // The same relays without single-active: the overlap must show.
  ASSERT_TRUE(stage_->sql().Execute("DELETE FROM audit"));
  for (auto& [name, relay] : relays_) relay->Kill();
  for (const char* name : {"rival-1", "rival-2"}) {
    relays_[name] = stage_->StartRelay(name, {"--batch-size", "5", "--window", "10"});
  }
  ASSERT_TRUE(WaitFor([&] { return Judge(Dispatches(stage_->sql())).overlap_ms_max > 0; }));
}

}  // namespace
}  // namespace outbox::testing
