// SIGTERM under load: the relay ends soon, in good order, and leaves nothing behind.
#include <gtest/gtest.h>

#include <csignal>
#include <random>

#include "tests/e2e/support/blocked_pipe.h"
#include "tests/e2e/support/dialects.h"
#include "tests/e2e/support/producer.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

class Shutdown : public OnDialect {};
OUTBOX_ON_EVERY_DIALECT(Shutdown);

TEST_P(Shutdown, UnderLoadRepeatsNothingAndLeavesNoLease) {
  constexpr std::size_t kStops = 20;
  OUTBOX_MAKE_STAGE(stage, GetParam());
  Producer producer(stage->url(), {.per_transaction = 20, .pause = milliseconds(10)});

  std::mt19937 random(7);
  std::uniform_int_distribution<int> life_ms(60, 400);
  Clock::duration longest{};
  for (std::size_t stop = 0; stop < kStops; ++stop) {
    const auto relay = stage->StartRelay("relay", {"--batch-size", "50", "--window", "200"});
    const std::size_t before = stage->Delivered();
    ASSERT_TRUE(WaitFor([&] { return stage->Delivered() > before + 50; })) << relay->Errors();
    std::this_thread::sleep_for(milliseconds(life_ms(random)));
    const auto asked = Clock::now();
    relay->Signal(stop % 2 == 0 ? SIGTERM : SIGINT);
    ASSERT_EQ(relay->Wait(kPatience), 0) << relay->Errors();
    longest = std::max(longest, Clock::now() - asked);
    ASSERT_EQ(stage->Leased(), 0) << "a lease was left behind by stop " << stop;
  }
  producer.Stop();
  ASSERT_TRUE(stage->Drain("relay"));

  const Verdict verdict = stage->Judge();
  PrintVerdict(Name(), verdict, kStops, 0);
  std::printf("longest stop: %lld ms\n",
              static_cast<long long>(std::chrono::duration_cast<milliseconds>(longest).count()));
  EXPECT_EQ(verdict.lost + verdict.phantom + verdict.duplicated, 0u);
  EXPECT_GT(verdict.events, kStops * 50);
}

TEST_P(Shutdown, IsBoundedWhileTheSinkHangs) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  ASSERT_TRUE(Produce(stage->sql(), {.per_transaction = 50, .payload_bytes = 1000}, 2));
  BlockedPipe pipe(stage->folder() + "/pipe");
  const auto relay =
      stage->StartRelay("relay", {"--sink", pipe.sink(), "--shutdown-timeout", "1s"});
  ASSERT_TRUE(WaitFor([&] { return pipe.Reached(); })) << relay->Errors();
  relay->Signal(SIGTERM);
  EXPECT_TRUE(relay->Wait(seconds(25)).has_value()) << "did not end";
}

TEST_P(Shutdown, TheFirstSignalIsNotTheSecondWhenTheTimeOfADrainIsOver) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  ASSERT_TRUE(Produce(stage->sql(), {.per_transaction = 50, .payload_bytes = 1000}, 2));
  BlockedPipe pipe(stage->folder() + "/pipe");
  const auto relay = stage->StartRelay("relay", {"--sink", pipe.sink(), "--drain", "--timeout",
                                                 "500ms", "--shutdown-timeout", "3s"});
  ASSERT_TRUE(WaitFor([&] { return relay->Errors().find("draining") != std::string::npos; }))
      << relay->Errors();
  relay->Signal(SIGTERM);
  EXPECT_EQ(relay->Wait(kPatience), 1);
  EXPECT_NE(relay->Errors().find("delivered 0"), std::string::npos) << relay->Errors();
}

}  // namespace
}  // namespace outbox::testing
