// PostgreSQL goes away and comes back under load: restarts, crashes, terminated backends.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "tests/e2e/support/blocked_pipe.h"
#include "tests/e2e/support/producer.h"
#include "tests/e2e/support/stage.h"
#include "tests/support/postgres.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kRelays = 2;
constexpr std::size_t kWindow = 40;

class ServerFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_POSTGRES();
    server_ = PrivatePostgres::Start("shared_buffers = 64MB");
    ASSERT_NE(server_, nullptr);
    stage_ = Stage::MakeAt(server_->url());
    ASSERT_NE(stage_, nullptr);
    producer_.emplace(stage_->url(), Load{.per_transaction = 20, .pause = milliseconds(10)});
    for (std::size_t i = 0; i < kRelays; ++i) {
      relays_.push_back(stage_->StartRelay(
          StrCat("relay-", i), {"--batch-size", "20", "--window", std::to_string(kWindow),
                                "--lease", "2s", "--max-attempts", "unlimited"}));
    }
    // The faults are for relays that run: one that is cut off while it opens its stores gives up.
    for (const auto& relay : relays_) {
      ASSERT_TRUE(WaitFor([&] {
        return relay->Errors().find("relay running") != std::string::npos;
      })) << relay->Errors();
    }
    ASSERT_TRUE(Flowing());
  }

  // More is delivered than there is now.
  bool Flowing() {
    const std::size_t before = stage_->Delivered();
    const auto asked = Clock::now();
    const bool flows = WaitFor([&] { return stage_->Delivered() > before; });
    longest_ = std::max(longest_, Clock::now() - asked);
    return flows;
  }

  void FinishAndJudge(std::string_view name, std::size_t faults) {
    const std::size_t bound = faults * kRelays * kWindow;
    // Of fewer events the bound would say nothing.
    ASSERT_TRUE(WaitFor([&] { return stage_->Delivered() > bound; }));
    producer_->Stop();
    for (const auto& relay : relays_) ASSERT_TRUE(relay->Running()) << relay->Errors();
    const auto reader = SqlConnection::Open(stage_->url());
    ASSERT_NE(reader, nullptr);
    ASSERT_TRUE(WaitFor([&] {
      return reader->Number(StrCat("SELECT count(*) FROM ", kTable,
                                   " WHERE status IN ('pending', 'processing')")) == 0;
    }));
    Ledger ledger;
    for (std::string& id : reader->Column("SELECT id FROM expected")) ledger.Expect(std::move(id));
    for (std::size_t i = 0; i < kRelays; ++i) {
      ledger.SeeFile(stage_->SinkFile(StrCat("relay-", i)));
    }
    const Verdict verdict = ledger.Judge();
    PrintVerdict(name, verdict, faults, bound);
    std::printf("longest pause: %lld ms\n",
                static_cast<long long>(std::chrono::duration_cast<milliseconds>(longest_).count()));
    EXPECT_EQ(verdict.lost, 0u);
    EXPECT_EQ(verdict.phantom, 0u);
    EXPECT_LE(verdict.duplicated, bound);
  }

  std::unique_ptr<PrivatePostgres> server_;
  std::unique_ptr<Stage> stage_;
  std::optional<Producer> producer_;
  std::vector<std::unique_ptr<Process>> relays_;
  Clock::duration longest_{};
};

TEST_F(ServerFaults, ARestartedServerIsFoundAgain) {
  constexpr std::size_t kRestarts = 6;
  for (std::size_t restart = 0; restart < kRestarts; ++restart) {
    server_->Stop(restart % 2 == 0 ? "immediate" : "fast");
    server_->StartAgain();
    ASSERT_TRUE(Flowing()) << "not resumed after restart " << restart << ": "
                           << relays_.front()->Errors();
  }
  FinishAndJudge("restarts", kRestarts);
}

TEST_F(ServerFaults, TerminatedBackendsAreReplaced) {
  constexpr std::size_t kRounds = 15;
  const auto killer = SqlConnection::Open(server_->url());
  ASSERT_NE(killer, nullptr);
  std::int64_t terminated = 0;
  for (std::size_t round = 0; round < kRounds; ++round) {
    terminated += killer->Number(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        "WHERE application_name = 'outboxd'");
    ASSERT_TRUE(Flowing()) << relays_.front()->Errors();
  }
  std::printf("terminated %lld backends\n", static_cast<long long>(terminated));
  EXPECT_GE(terminated, static_cast<std::int64_t>(kRounds));
  FinishAndJudge("terminated backends", kRounds);
}

// Longer than the leases: nobody could keep one, and the relay that waits for its sink has its
// messages again before the other takes them.
TEST(ASlowSinkInAnOutage, KeepsItsMessages) {
  OUTBOX_REQUIRE_POSTGRES();
  constexpr std::size_t kEvents = 20;
  const auto server = PrivatePostgres::Start("shared_buffers = 64MB");
  ASSERT_NE(server, nullptr);
  const auto stage = Stage::MakeAt(server->url());
  ASSERT_NE(stage, nullptr);
  ASSERT_TRUE(Produce(
      stage->sql(), {.per_transaction = kEvents, .rollback_percent = 0, .payload_bytes = 1000}, 1));
  BlockedPipe pipe(stage->folder() + "/pipe");
  const auto slow = stage->StartRelay(
      "slow", {"--lease", "4s", "--sink", pipe.sink(), "--dispatch-timeout", "5m"});
  ASSERT_TRUE(WaitFor([&] { return pipe.Reached(); })) << slow->Errors();
  const auto idle = stage->StartRelay("idle", {"--lease", "4s"});
  ASSERT_TRUE(WaitFor([&] { return idle->Errors().find("relay running") != std::string::npos; }));

  server->Stop("fast");
  const auto all_run_out = Clock::now() + std::chrono::seconds(5);
  ASSERT_TRUE(WaitFor([&] { return Clock::now() > all_run_out; }));
  server->StartAgain();
  const auto reader = SqlConnection::Open(stage->url());
  ASSERT_NE(reader, nullptr);
  ASSERT_TRUE(WaitFor([&] {
    return reader->Number(StrCat("SELECT count(*) FROM ", kTable, " WHERE locked_until > now()")) ==
           static_cast<std::int64_t>(kEvents);
  }));
  std::string late;
  ASSERT_TRUE(WaitFor([&] {
    late += pipe.Read();
    return reader->Number(StrCat("SELECT count(*) FROM ", kTable,
                                 " WHERE status IN ('pending', 'processing')")) == 0;
  })) << slow->Errors();
  late += pipe.Read();
  std::ofstream(stage->SinkFile("slow")) << late;
  Ledger ledger;
  for (std::string& id : reader->Column("SELECT id FROM expected")) ledger.Expect(std::move(id));
  for (const char* relay : {"slow", "idle"}) ledger.SeeFile(stage->SinkFile(relay));
  const Verdict verdict = ledger.Judge();
  PrintVerdict("slow sink in an outage", verdict, 1, 0);
  EXPECT_EQ(verdict.lost + verdict.phantom + verdict.duplicated, 0u);
}

}  // namespace
}  // namespace outbox::testing
