// A table is dropped and made again, or restored from a dump, while its relay runs: the relay goes
// on with the new table. Events committed before and after arrive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "base/text.h"
#include "tests/e2e/support/dialects.h"
#include "tests/e2e/support/producer.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t kTransactions = 30;

class RecreatedTable : public OnDialect {
 protected:
  void SetUp() override {
    if (GetParam() == Dialect::kPostgres) OUTBOX_REQUIRE_POSTGRES();
    stage_ = Stage::Make(GetParam());
    ASSERT_NE(stage_, nullptr);
  }

  void Start(const std::string& name, const Flags& flags = {}) {
    Flags all{"--poll-max", "50ms", "--reconnect-max", "200ms"};
    all.insert(all.end(), flags.begin(), flags.end());
    relay_ = stage_->StartRelay(name, all);
    ASSERT_TRUE(Says("relay running")) << relay_->Errors();
  }
  bool Says(const std::string& words) {
    return WaitFor([&] { return relay_->Errors().find(words) != std::string::npos; });
  }

  void Execute(const std::string& statement) {
    ASSERT_TRUE(stage_->sql().Execute(statement)) << stage_->sql().error() << ": " << statement;
  }
  void Run(const Flags& command) {
    const Finished finished = stage_->Run(command);
    ASSERT_EQ(finished.exit_code, 0) << finished.standard_error;
  }
  void ProduceAndDeliver() {
    ASSERT_TRUE(Produce(stage_->sql(), {.payload_bytes = 50}, kTransactions));
    ASSERT_TRUE(WaitFor([&] { return stage_->Unfinished() == 0; })) << relay_->Errors();
  }
  void Drop() { Run({"migrate", "down", "--table", std::string(kTable), "--yes"}); }
  void MakeAnew() { Run({"migrate", "up", "--table", std::string(kTable)}); }

  void ExpectEverythingArrived() {
    const Verdict verdict = stage_->Judge();
    PrintVerdict(Name(), verdict, 1, 0);
    EXPECT_EQ(verdict.lost, 0u);
    EXPECT_EQ(verdict.phantom, 0u);
    EXPECT_EQ(verdict.duplicated, 0u);
  }
  void Stop() {
    EXPECT_TRUE(relay_->Running()) << relay_->Errors();
    EXPECT_THAT(relay_->Errors(), Not(HasSubstr("PostgreSQL 13"))) << "the server is new enough";
    relay_->Signal(SIGTERM);
    EXPECT_EQ(relay_->Wait(kPatience), 0) << relay_->Errors();
  }

  std::unique_ptr<Stage> stage_;
  std::unique_ptr<Process> relay_;
};
OUTBOX_ON_EVERY_DIALECT(RecreatedTable);

TEST_P(RecreatedTable, IsDeliveredFromAsTheOneBefore) {
  for (const Flags& flags : {Flags{}, Flags{"--claim", "transaction"},
                             Flags{"--attempt-history", "all", "--single-active"}}) {
    SCOPED_TRACE(flags.empty() ? "lease" : flags.back());
    Start(StrCat("relay-", flags.size()), flags);
    for (int round = 0; round < 2; ++round) {
      ProduceAndDeliver();
      Drop();
      // What is said once is not said again at once: the second time it may not have noticed.
      if (round == 0) {
        ASSERT_TRUE(Says("database error"));
      }
      MakeAnew();
    }
    ProduceAndDeliver();
    Stop();
    ExpectEverythingArrived();
    Drop();
    MakeAnew();
  }
}

// The table is another one, and no relay has to have met the time without it.
TEST_P(RecreatedTable, MayBeReplacedInAMoment) {
  Start("relay");
  for (int round = 0; round < 5; ++round) {
    ProduceAndDeliver();
    Drop();
    MakeAnew();
  }
  ProduceAndDeliver();
  Stop();
  ExpectEverythingArrived();
}

// Negative control: without a relay the judge misses what was committed after the table was made.
TEST_P(RecreatedTable, WhatIsNotDeliveredFromTheNewTableWouldBeNoticed) {
  Start("relay");
  ProduceAndDeliver();
  Stop();
  EXPECT_EQ(stage_->Judge().lost, 0u);
  Drop();
  MakeAnew();
  ASSERT_TRUE(Produce(stage_->sql(), {.rollback_percent = 0}, kTransactions));
  EXPECT_EQ(stage_->Judge().lost, kTransactions * Load{}.per_transaction);
}

class RestoredTable : public RecreatedTable {
 protected:
  // The outbox without the test's own table.
  void Dump() {
    Tool({"/usr/bin/pg_dump", "--format=custom", "--exclude-table=expected", "--file=" + DumpFile(),
          stage_->url()});
  }
  void DropByHand() {
    Execute(StrCat("DROP TABLE ", kTable, ", ", kTable, "_delivery, ", kTable, "_attempt"));
    Execute(StrCat("DROP DOMAIN ", kTable, "_topic"));
    Execute("DROP SCHEMA outbox CASCADE");
  }
  void Restore() {
    Tool({"/usr/bin/pg_restore", "--exit-on-error", "--dbname=" + stage_->url(), DumpFile()});
  }

 private:
  std::string DumpFile() const { return stage_->folder() + "/outbox.dump"; }
  static void Tool(const Flags& command) {
    const Finished finished = Process::Run(command);
    ASSERT_EQ(finished.exit_code, 0) << command.front() << ": " << finished.standard_error;
  }
};
INSTANTIATE_TEST_SUITE_P(On, RestoredTable, ::testing::Values(Dialect::kPostgres),
                         [](const auto& one) { return DialectName(one.param); });

TEST_P(RestoredTable, IsDeliveredFromWhereItWas) {
  for (const Flags& flags : {Flags{}, Flags{"--claim", "transaction"}}) {
    SCOPED_TRACE(flags.empty() ? "lease" : flags.back());
    Start(StrCat("relay-", flags.size()), flags);
    ProduceAndDeliver();
    // In the dump, and due only when it is restored: pending, and one that is dead.
    Execute(StrCat("INSERT INTO ", kTable,
                   " (id, topic, payload, available_at) SELECT gen_random_uuid(), "
                   "'orders.order.created.v1', '{}', now() + interval '1 day' "
                   "FROM generate_series(1, 200)"));
    Execute(
        StrCat("INSERT INTO expected SELECT id::text FROM ", kTable, " WHERE status = 'pending'"));
    Execute(StrCat("UPDATE ", kTable,
                   " SET status = 'dead', available_at = 'infinity' WHERE id = "
                   "(SELECT id FROM ",
                   kTable, " WHERE status = 'pending' LIMIT 1)"));
    Dump();
    DropByHand();
    ASSERT_TRUE(Says("database error")) << "it has noticed";
    Restore();
    Execute(StrCat("UPDATE ", kTable, " SET available_at = now() WHERE status = 'pending'"));
    ASSERT_TRUE(WaitFor([&] { return stage_->Unfinished() == 0; })) << relay_->Errors();
    Run({"retry", "--table", std::string(kTable), "--all-dead", "--yes"});
    ProduceAndDeliver();
    Stop();
    ExpectEverythingArrived();
  }
}

}  // namespace
}  // namespace outbox::testing
