// One relay takes over from another: after a frozen process, and after a crash in a transaction
// claim.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "tests/e2e/support/blocked_pipe.h"
#include "tests/e2e/support/dialects.h"
#include "tests/e2e/support/producer.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

// Everything a settle may change.
SqlConnection::Rows RowStates(SqlConnection& sql) {
  return sql.Query(
      StrCat("SELECT id, status, attempts, locked_by, locked_until, last_error, "
             "updated_at, processed_at FROM ",
             kTable, " ORDER BY seq"));
}

class Takeover : public OnDialect {
 protected:
  // Large enough for one message not to fit into the pipe with the others.
  static constexpr std::size_t kPayloadBytes = 1000;
  static constexpr std::size_t kEvents = 20;

  static bool ProduceEvents(Stage& stage) {
    return Produce(
        stage.sql(),
        {.per_transaction = kEvents, .rollback_percent = 0, .payload_bytes = kPayloadBytes}, 1);
  }
};
OUTBOX_ON_EVERY_DIALECT(Takeover);

// A process that is frozen in a write transaction keeps an SQLite file locked for good, and nobody
// can take over. It has none open while we do.
bool FreezeBetweenWrites(Process& process, Stage& stage) {
  const bool locks = stage.dialect() == Dialect::kSqlite;
  if (locks && !stage.sql().Execute("BEGIN IMMEDIATE")) return false;
  process.Signal(SIGSTOP);
  const bool stopped = WaitFor([&] { return process.Stopped(); });
  return (!locks || stage.sql().Execute("ROLLBACK")) && stopped;
}

TEST_P(Takeover, RejectsTheAckOfARelayThatWasFrozenPastItsLease) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  ASSERT_TRUE(ProduceEvents(*stage));
  BlockedPipe pipe(stage->folder() + "/pipe");
  // Long enough to be kept on a busy machine until it is frozen.
  const auto frozen =
      stage->StartRelay("frozen", {"--lease", "6s", "--sink", pipe.sink(), "--json"});
  ASSERT_TRUE(WaitFor([&] { return pipe.Reached(); })) << frozen->Errors();
  ASSERT_TRUE(FreezeBetweenWrites(*frozen, *stage));

  ASSERT_TRUE(stage->Drain("second")) << "the lease did not run out";
  const auto settled_by_second = RowStates(stage->sql());
  ASSERT_EQ(stage->Count("delivered"), static_cast<std::int64_t>(kEvents));

  frozen->Signal(SIGCONT);
  std::string late;
  ASSERT_TRUE(WaitFor([&] {
    late += pipe.Read();
    return frozen->Errors().find("lease lost") != std::string::npos;
  })) << frozen->Errors();
  frozen->Signal(SIGTERM);
  ASSERT_TRUE(WaitFor([&] {
    late += pipe.Read();
    return !frozen->Running();
  }));

  EXPECT_EQ(RowStates(stage->sql()), settled_by_second) << "the stale ack changed a row";
  const auto summary = nlohmann::json::parse(frozen->Output(), nullptr, false);
  ASSERT_TRUE(summary.is_object()) << frozen->Output();
  EXPECT_EQ(summary.value("lost", 0), static_cast<int>(kEvents));
  EXPECT_EQ(summary.value("delivered", -1), 0);

  std::ofstream(stage->SinkFile("frozen")) << late;
  const Verdict verdict = stage->Judge();
  PrintVerdict(Name(), verdict, 1, kEvents);
  EXPECT_EQ(verdict.lost, 0u);
  EXPECT_EQ(verdict.phantom, 0u);
  EXPECT_LE(verdict.duplicated, kEvents);
}

TEST_P(Takeover, AnUnfencedAckWouldHaveBeenNoticed) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  ASSERT_TRUE(ProduceEvents(*stage));
  ASSERT_TRUE(stage->Drain("second"));
  const auto before = RowStates(stage->sql());
  // What a relay without a token in its settle would do to a row that is not its own.
  ASSERT_TRUE(stage->sql().Execute(StrCat("UPDATE ", kTable, " SET status = 'pending' WHERE seq = ",
                                          "(SELECT min(seq) FROM ", kTable, ")")));
  EXPECT_NE(RowStates(stage->sql()), before);
}

// How long until a second relay has delivered what the first one held when it was killed; no value
// when it did not within `patience`.
std::optional<milliseconds> TimeToTakeOver(Stage& stage, const std::string& claim,
                                           milliseconds patience) {
  const Flags flags{"--claim", claim, "--lease", "10m"};
  BlockedPipe pipe(stage.folder() + "/pipe");
  Flags blocked = flags;
  blocked.insert(blocked.end(), {"--sink", pipe.sink()});
  const auto first = stage.StartRelay("first", blocked);
  EXPECT_TRUE(WaitFor([&] { return pipe.Reached(); })) << first->Errors();
  first->Kill();

  const auto killed = Clock::now();
  const auto second = stage.StartRelay("second", flags);
  if (!WaitFor([&] { return stage.Unfinished() == 0; }, patience)) return std::nullopt;
  return std::chrono::duration_cast<milliseconds>(Clock::now() - killed);
}

TEST_P(Takeover, GetsTheRowsOfACrashedTransactionClaimAtOnce) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  ASSERT_TRUE(ProduceEvents(*stage));
  const auto took = TimeToTakeOver(*stage, "transaction", seconds(30));
  ASSERT_TRUE(took.has_value());
  std::printf("taken over after %lld ms, with a lease of 10 minutes\n",
              static_cast<long long>(took->count()));
  const Verdict verdict = stage->Judge();
  PrintVerdict(Name(), verdict, 1, 0);
  EXPECT_EQ(verdict.lost + verdict.phantom + verdict.duplicated, 0u);
}

// How long the leases last from now, at most, by the database's clock.
milliseconds LongestLease(Stage& stage) {
  return milliseconds(stage.sql().Number(
      StrCat(stage.dialect() == Dialect::kPostgres
                 ? "SELECT ceil(extract(epoch FROM max(locked_until) - now()) * 1000)::bigint FROM "
                 : "SELECT max(locked_until) - CAST((julianday('now') - 2440587.5) * 86400000 AS "
                   "INTEGER) FROM ",
             kTable)));
}

TEST_P(Takeover, WithDefaultsTheMessagesOfACrashedRelayWaitForSecondsOnly) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  ASSERT_TRUE(ProduceEvents(*stage));
  BlockedPipe pipe(stage->folder() + "/pipe");
  const auto first = stage->StartRelay("first", {"--sink", pipe.sink()});
  ASSERT_TRUE(WaitFor([&] { return pipe.Reached(); })) << first->Errors();
  const auto second = stage->StartRelay("second", {});
  ASSERT_TRUE(WaitFor([&] { return second->Errors().find("relay running") != std::string::npos; }));
  ASSERT_EQ(stage->Count("processing"), static_cast<std::int64_t>(kEvents));

  first->Kill();
  const auto killed = Clock::now();
  const milliseconds longest = LongestLease(*stage);
  ASSERT_TRUE(WaitFor([&] { return stage->Unfinished() == 0; })) << second->Errors();
  const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - killed);
  std::printf("taken over after %lld ms, with leases that lasted %lld ms more\n",
              static_cast<long long>(took.count()), static_cast<long long>(longest.count()));
  EXPECT_LE(longest, seconds(8)) << "what is left of ten seconds is for claiming and delivering";
  const Verdict verdict = stage->Judge();
  PrintVerdict(Name(), verdict, 1, kEvents);
  EXPECT_EQ(verdict.lost + verdict.phantom, 0u);
  EXPECT_LE(verdict.duplicated, kEvents);
}

TEST_P(Takeover, ASinkThatIsSlowerThanManyLeasesKeepsItsMessages) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  ASSERT_TRUE(ProduceEvents(*stage));
  BlockedPipe pipe(stage->folder() + "/pipe");
  const auto slow = stage->StartRelay("slow", {"--lease", "3s", "--sink", pipe.sink()});
  ASSERT_TRUE(WaitFor([&] { return pipe.Reached(); })) << slow->Errors();
  const auto idle = stage->StartRelay("idle", {"--lease", "3s"});
  // Heartbeats come at a third of the lease: so many are three leases.
  std::set<std::string> ends;
  ASSERT_TRUE(WaitFor([&] {
    for (std::string& end : stage->sql().Column(StrCat("SELECT max(locked_until) FROM ", kTable))) {
      ends.insert(std::move(end));
    }
    return ends.size() > 9;
  }));
  std::string late;
  ASSERT_TRUE(WaitFor([&] {
    late += pipe.Read();
    return stage->Unfinished() == 0;
  })) << slow->Errors();
  late += pipe.Read();
  std::ofstream(stage->SinkFile("slow")) << late;
  const Verdict verdict = stage->Judge();
  PrintVerdict(Name(), verdict, 0, 0);
  EXPECT_EQ(verdict.lost + verdict.phantom + verdict.duplicated, 0u);
}

// On PostgreSQL: a frozen process keeps the lock on an SQLite file.
TEST(FrozenTransaction, IsCutOffByTheServerAndItsRelayGoesOn) {
  OUTBOX_MAKE_STAGE(stage, Dialect::kPostgres);
  constexpr std::size_t kEvents = 20;
  const Load load{.per_transaction = kEvents, .rollback_percent = 0, .payload_bytes = 1000};
  ASSERT_TRUE(Produce(stage->sql(), load, 1));
  BlockedPipe pipe(stage->folder() + "/pipe");
  const Flags flags{"--claim", "transaction", "--lease", "1s"};
  const auto frozen = stage->StartRelay(
      "frozen", {"--claim", "transaction", "--lease", "1s", "--sink", pipe.sink(), "--json"});
  ASSERT_TRUE(WaitFor([&] { return pipe.Reached(); })) << frozen->Errors();
  frozen->Signal(SIGSTOP);
  ASSERT_TRUE(WaitFor([&] { return frozen->Stopped(); }));

  const auto stopped = Clock::now();
  const auto second = stage->StartRelay("second", flags);
  ASSERT_TRUE(WaitFor([&] { return stage->Unfinished() == 0; })) << "its rows are still locked";
  const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - stopped);
  second->Signal(SIGTERM);
  ASSERT_TRUE(WaitFor([&] { return !second->Running(); }));
  const auto settled_by_second = RowStates(stage->sql());

  frozen->Signal(SIGCONT);
  std::string late;
  ASSERT_TRUE(WaitFor([&] {
    late += pipe.Read();
    return frozen->Errors().find("lease lost") != std::string::npos;
  })) << frozen->Errors();
  EXPECT_EQ(RowStates(stage->sql()), settled_by_second) << "the stale ack changed a row";
  // It works again, in a session of its own.
  ASSERT_TRUE(Produce(stage->sql(), load, 1));
  ASSERT_TRUE(WaitFor([&] {
    late += pipe.Read();
    return stage->Unfinished() == 0;
  })) << frozen->Errors();
  frozen->Signal(SIGTERM);
  ASSERT_TRUE(WaitFor([&] {
    late += pipe.Read();
    return !frozen->Running();
  }));

  std::printf("taken over after %lld ms, with a lease of 1 second\n",
              static_cast<long long>(took.count()));
  std::ofstream(stage->SinkFile("frozen")) << late;
  const Verdict verdict = stage->Judge();
  PrintVerdict("FrozenTransaction", verdict, 1, kEvents);
  EXPECT_EQ(verdict.lost, 0u);
  EXPECT_EQ(verdict.phantom, 0u);
  EXPECT_LE(verdict.duplicated, kEvents);
}

TEST_P(Takeover, WaitsForTheLeaseOfACrashedLeaseClaim) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  ASSERT_TRUE(ProduceEvents(*stage));
  EXPECT_FALSE(TimeToTakeOver(*stage, "lease", seconds(3)).has_value());
  EXPECT_EQ(stage->Count("processing"), static_cast<std::int64_t>(kEvents));
}

}  // namespace
}  // namespace outbox::testing
