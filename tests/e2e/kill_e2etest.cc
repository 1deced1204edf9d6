// Relays that die: by SIGKILL at any moment, and at the four places where it matters most.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

#include "base/text.h"
#include "tests/e2e/support/dialects.h"
#include "tests/e2e/support/producer.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;
using std::chrono::milliseconds;

class Kill : public OnDialect {};
OUTBOX_ON_EVERY_DIALECT(Kill);

TEST_P(Kill, AtRandomMomentsLosesNothingAndRepeatsAtMostAWindowEach) {
  constexpr std::size_t kRelays = 2;
  constexpr std::size_t kWindow = 20;
  const std::size_t kills = Pick(100, 30);
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const Flags flags{"--batch-size", "10", "--window",       std::to_string(kWindow),
                    "--lease",      "1s", "--max-attempts", "unlimited"};
  // More than relays with so small batches can take away: every kill finds them at work.
  Producer producer(stage->url(),
                    {.per_transaction = 50, .transactions_max = Pick<std::size_t>(1600, 500)});

  std::mt19937 random(20260105);
  std::uniform_int_distribution<int> life_ms(30, 350);
  std::array<std::unique_ptr<Process>, kRelays> relays;
  for (std::size_t kill = 0; kill < kills; ++kill) {
    auto& victim = relays[kill % kRelays];
    for (std::size_t i = 0; i < kRelays; ++i) {
      if (relays[i] == nullptr) relays[i] = stage->StartRelay(StrCat("relay-", i), flags);
    }
    // On a busy machine it may take them longer to start than they would live. Some die before.
    if (kill % 4 != 0) {
      ASSERT_TRUE(WaitFor([&] {
        return !victim->Running() || victim->Errors().find("relay running") != std::string::npos;
      }));
    }
    std::this_thread::sleep_for(milliseconds(life_ms(random)));
    ASSERT_TRUE(victim->Running()) << "died by itself: " << victim->Errors();
    victim->Kill();
    victim.reset();
  }
  for (auto& relay : relays) relay.reset();
  const std::size_t faults = kills + kRelays - 1;  // the last survivor was killed too
  const std::size_t bound = faults * kWindow;
  // Of fewer events the bound would say nothing.
  ASSERT_TRUE(WaitFor([&] { return producer.transactions() * 25 > bound; }));
  producer.Stop();
  const auto claimed_again = stage->sql().Number(
      StrCat("SELECT count(*) FROM ", kTable, " WHERE attempts > 1 OR locked_by IS NOT NULL"));
  ASSERT_TRUE(stage->Drain("relay-last", {"--max-attempts", "unlimited"}));

  const Verdict verdict = stage->Judge();
  PrintVerdict(Name(), verdict, faults, bound);
  EXPECT_EQ(verdict.lost, 0u);
  EXPECT_EQ(verdict.phantom, 0u);
  EXPECT_LE(verdict.duplicated, bound);
  EXPECT_EQ(stage->Count("delivered"), static_cast<std::int64_t>(verdict.events));
  EXPECT_GT(claimed_again, 0) << "no kill met a claim: the test has not tested anything";
  EXPECT_GT(verdict.events, bound) << "so few events that the bound says nothing";
}

struct Place {
  const char* name;
  std::size_t batches_repeated_max;
};
constexpr std::array kPlaces{Place{"after_claim", 0}, Place{"after_publish", 1},
                             Place{"mid_settle", 1}, Place{"after_settle", 0}};

class Failpoints : public ::testing::TestWithParam<std::tuple<Dialect, Place>> {};
INSTANTIATE_TEST_SUITE_P(At, Failpoints,
                         ::testing::Combine(::testing::Values(Dialect::kPostgres, Dialect::kSqlite),
                                            ::testing::ValuesIn(kPlaces)),
                         [](const auto& one) {
                           return StrCat(DialectName(std::get<0>(one.param)), "_",
                                         std::get<1>(one.param).name);
                         });

TEST_P(Failpoints, LoseNothingAndRepeatAtMostTheBatchInFlight) {
  constexpr std::size_t kBatch = 20;
  constexpr int kCrashes = 3;
  const auto [dialect, place] = GetParam();
  OUTBOX_MAKE_STAGE(stage, dialect);
  ASSERT_TRUE(Produce(stage->sql(), {}, 30));

  // One claim at a time, so that nothing but the crashing one is in flight.
  const std::string batch = std::to_string(kBatch);
  const Flags flags{"--batch-size", batch, "--window", batch};
  for (int crash = 1; crash <= kCrashes; ++crash) {
    const auto relay = stage->StartRelay(
        "relay", flags, {.environment = {{"OUTBOX_FAILPOINT", StrCat(place.name, ":", crash)}}});
    ASSERT_EQ(relay->Wait(kPatience), 137) << relay->Errors();
    ASSERT_TRUE(stage->EndLeases());
  }
  ASSERT_TRUE(stage->Drain("relay", flags));

  const Verdict verdict = stage->Judge();
  const std::size_t bound = kCrashes * kBatch * place.batches_repeated_max;
  PrintVerdict(StrCat(DialectName(dialect), " ", place.name), verdict, kCrashes, bound);
  EXPECT_EQ(verdict.events, 270u);
  EXPECT_EQ(verdict.lost, 0u);
  EXPECT_EQ(verdict.phantom, 0u);
  EXPECT_LE(verdict.duplicated, bound);
  // Without an answer to the publish the relay can not know: it must have repeated.
  if (std::string_view(place.name) == "after_publish") {
    EXPECT_EQ(verdict.duplicated, bound);
  }
}

TEST_P(Kill, TheHistoryShowsTheAttemptThatACrashCutOff) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  ASSERT_TRUE(Produce(stage->sql(), {.per_transaction = 1, .rollback_percent = 0}, 1));
  const Flags flags{"--attempt-history", "all"};
  const auto relay = stage->StartRelay("crashed", flags,
                                       {.environment = {{"OUTBOX_FAILPOINT", "after_publish:1"}}});
  ASSERT_EQ(relay->Wait(kPatience), 137) << relay->Errors();
  ASSERT_TRUE(stage->EndLeases());
  ASSERT_TRUE(stage->Drain("second", flags));
  const auto ids = stage->sql().Query(StrCat("SELECT id FROM ", kTable));
  ASSERT_EQ(ids.size(), 1u);
  const Finished shown = stage->Run({"show", ids.at(0).at(0)});
  EXPECT_EQ(shown.exit_code, 0) << shown.standard_error;
  EXPECT_THAT(shown.standard_output,
              ::testing::AllOf(::testing::HasSubstr("\tenqueued\t"),
                               ::testing::ContainsRegex("attempt 1: no outcome\t[^\n]*\tcrashed"),
                               ::testing::ContainsRegex("attempt 2: delivered\t[^\n]*\tsecond")));
  const Finished json = stage->Run({"show", ids.at(0).at(0), "--json"});
  EXPECT_THAT(json.standard_output, ::testing::HasSubstr("\"result\":\"no_outcome\""));
}

}  // namespace
}  // namespace outbox::testing
