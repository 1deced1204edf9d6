#include "tests/e2e/support/broker_kills.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <random>

#include "tests/e2e/support/producer.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

constexpr std::size_t kBacklogBatches = 10;
constexpr std::chrono::seconds kStopPatience{30};

std::size_t CountOf(std::string_view what, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
  return count;
}

// What the relay's log has said so far about a sink that is gone.
struct Complaints {
  explicit Complaints(const Process& relay) {
    const std::string log = relay.Errors();
    in_doubt = CountOf("disposition=in_doubt", log);
    pauses = CountOf("msg=\"relay waiting for sink\"", log);
    runs = CountOf("msg=\"relay running\"", log);
  }
  bool running() const { return runs > pauses; }

  std::size_t in_doubt;  // messages sent and not answered
  std::size_t pauses;
  std::size_t runs;  // its start, and the end of each pause
};

}  // namespace

std::unique_ptr<Process> BrokerKills::StartRelay() const {
  // With the next batch claimed already, the sink is hardly ever idle.
  return stage_.StartRelay(
      "relay", {"--sink", plan_.sink, "--batch-size", std::to_string(plan_.batch), "--window",
                std::to_string(2 * plan_.batch), "--max-attempts", "unlimited", "--probe-min",
                "100ms", "--probe-max", "500ms", "--retry-base", "100ms", "--retry-cap", "500ms"});
}

bool BrokerKills::ProduceBacklog() {
  return Produce(stage_.sql(), {.per_transaction = plan_.batch}, kBacklogBatches);
}

void BrokerKills::Kill() { plan_.tears_writes ? broker_.Kill() : broker_.KillBetweenWrites(); }

void BrokerKills::KillOnce(const Process& relay) {
  // One that still waits because of the kill before would have nothing new to complain of:
  // deliveries from before that may be settled after the restart.
  ASSERT_TRUE(WaitFor([&] { return Complaints(relay).running(); })) << relay.Errors();
  const Complaints before(relay);
  Kill();
  const bool noticed = WaitFor([&] {
    const Complaints now(relay);
    return now.in_doubt > before.in_doubt || now.pauses > before.pauses;
  });
  ASSERT_TRUE(noticed) << "the relay does not know that its sink is gone: " << relay.Errors();
  met_in_flight_ += Complaints(relay).in_doubt > before.in_doubt ? 1 : 0;
}

void BrokerKills::Run() {
  std::mt19937 random(20260105);
  std::uniform_int_distribution<std::size_t> deliveries(1, kBacklogBatches * plan_.batch / 2);
  ASSERT_TRUE(ProduceBacklog()) << stage_.sql().error();
  const auto relay = StartRelay();
  Producer producer(stage_.url(), {.per_transaction = 20, .pause = std::chrono::milliseconds(50)});
  for (std::size_t kill = 0; kill < plan_.kills; ++kill) {
    const auto enough = stage_.Count("delivered") + static_cast<std::int64_t>(deliveries(random));
    ASSERT_TRUE(WaitFor([&] { return stage_.Count("delivered") >= enough; })) << relay->Errors();
    ASSERT_NO_FATAL_FAILURE(KillOnce(*relay));
    ASSERT_TRUE(ProduceBacklog()) << stage_.sql().error();
    ASSERT_TRUE(broker_.StartAgain());
  }
  producer.Stop();
  ASSERT_TRUE(WaitFor([&] { return stage_.Unfinished() == 0; }, 2 * kPatience)) << relay->Errors();
  EXPECT_EQ(stage_.Count("dead"), 0);
  std::printf("%zu of %zu kills left messages in doubt, %zu in all\n", met_in_flight_, plan_.kills,
              Complaints(*relay).in_doubt);

  relay->Signal(SIGTERM);
  ASSERT_EQ(relay->Wait(kStopPatience), 0) << relay->Errors();
  Kill();
  ASSERT_TRUE(broker_.StartAgain());
}

void BrokerKills::ExpectNothingLost(std::string_view test, const Verdict& verdict,
                                    std::size_t duplicated_max) const {
  PrintVerdict(test, verdict, plan_.kills, duplicated_max);
  EXPECT_GT(met_in_flight_, 0u) << "no kill met a message in flight: nothing has been tested";
  EXPECT_EQ(verdict.lost, 0u);
  EXPECT_EQ(verdict.phantom, 0u);
  EXPECT_LE(verdict.duplicated, duplicated_max);
  EXPECT_GT(verdict.events, in_doubt_max()) << "so few events that the bound says nothing";
}

}  // namespace outbox::testing
