// The relay and RabbitMQ: a broker that is killed under load, and one that is short of memory.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/text.h"
#include "tests/e2e/support/dialects.h"
#include "tests/e2e/support/producer.h"
#include "tests/support/rabbitmq.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;

class RabbitMqEndToEnd : public ::testing::Test {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_PROGRAM("rabbitmq-server");
    rabbit_ = RabbitMq::Start();
    ASSERT_NE(rabbit_, nullptr);
    RabbitClient client(*rabbit_);
    client.DeclareExchange(kName);
    client.DeclareQueue(kName);
    client.Bind(kName, kName, "orders.#");
    ASSERT_TRUE(rabbit_->Settle());
  }

  std::string Uri(std::size_t window) const {
    return StrCat(rabbit_->address(), "?exchange=", kName, "&window=", window);
  }
  // Committed against what is in the queue.
  Verdict Judge(Stage& stage) {
    Ledger ledger;
    for (std::string& id : stage.sql().Column("SELECT id FROM expected")) {
      ledger.Expect(std::move(id));
    }
    RabbitClient client(*rabbit_);
    while (const auto message = client.Get(kName)) ledger.See(message->message_id);
    return ledger.Judge();
  }

  const std::string kName = "orders";
  std::unique_ptr<RabbitMq> rabbit_;
};

TEST_F(RabbitMqEndToEnd, ABrokerKilledUnderLoadLosesNothing) {
  constexpr std::size_t kKills = 20;
  constexpr std::size_t kWindow = 50;
  OUTBOX_MAKE_STAGE(stage, Dialect::kPostgres);
  const std::string window = std::to_string(kWindow);
  const Flags flags{"--sink",         Uri(kWindow), "--batch-size", window,  "--window",    window,
                    "--max-attempts", "unlimited",  "--probe-min",  "100ms", "--probe-max", "500ms",
                    "--retry-base",   "100ms",      "--retry-cap",  "500ms"};
  const auto relay = stage->StartRelay("relay", flags);
  Producer producer(stage->url(), {.per_transaction = 20, .pause = std::chrono::milliseconds(50)});
  for (std::size_t kill = 0; kill < kKills; ++kill) {
    const std::int64_t before = stage->Count("delivered");
    ASSERT_TRUE(WaitFor([&] { return stage->Count("delivered") > before + 200; }))
        << relay->Errors();
    rabbit_->Kill();
    ASSERT_TRUE(rabbit_->StartAgain());
  }
  producer.Stop();
  ASSERT_TRUE(WaitFor([&] { return stage->Unfinished() == 0; }, 2 * kPatience)) << relay->Errors();
  EXPECT_EQ(stage->Count("dead"), 0);

  const Verdict verdict = Judge(*stage);
  PrintVerdict("RabbitMQ killed", verdict, kKills, kKills * kWindow);
  EXPECT_EQ(verdict.lost, 0u);
  EXPECT_EQ(verdict.phantom, 0u);
  EXPECT_LE(verdict.duplicated, kKills * kWindow);
  EXPECT_GT(verdict.events, kKills * kWindow) << "so few events that the bound says nothing";
}

TEST_F(RabbitMqEndToEnd, AMemoryAlarmLongerThanTheLeaseCostsNoAttempt) {
  constexpr std::chrono::seconds kAlarm{30};
  OUTBOX_MAKE_STAGE(stage, Dialect::kPostgres);
  const Flags flags{"--sink",  Uri(100), "--batch-size",       "100", "--window", "200",
                    "--lease", "10s",    "--dispatch-timeout", "2m"};
  const auto relay = stage->StartRelay("relay", flags);
  Producer producer(stage->url(), {.per_transaction = 20, .pause = std::chrono::milliseconds(20)});
  ASSERT_TRUE(WaitFor([&] { return stage->Count("delivered") > 500; })) << relay->Errors();
  ASSERT_TRUE(rabbit_->SetMemoryAlarm(true));
  // At a standstill: many looks in a row see the same, and messages are held.
  constexpr int kLooks = 200;
  std::int64_t delivered = -1;
  int same = 0;
  ASSERT_TRUE(WaitFor([&] {
    const std::int64_t before = std::exchange(delivered, stage->Count("delivered"));
    same = before == delivered ? same + 1 : 0;
    return same >= kLooks && stage->Leased() > 0;
  }));
  // The length of the alarm is what is tested.
  std::this_thread::sleep_for(kAlarm);
  EXPECT_EQ(stage->Count("delivered"), delivered);
  ASSERT_TRUE(rabbit_->SetMemoryAlarm(false));
  ASSERT_TRUE(WaitFor([&] { return stage->Count("delivered") > delivered + 500; }));
  producer.Stop();
  ASSERT_TRUE(WaitFor([&] { return stage->Unfinished() == 0; })) << relay->Errors();

  EXPECT_EQ(stage->sql().Number(StrCat("SELECT count(*) FROM ", kTable, " WHERE attempts <> 1")),
            0);
  const Verdict verdict = Judge(*stage);
  PrintVerdict("RabbitMQ short of memory", verdict, 1, 0);
  EXPECT_EQ(verdict.lost, 0u);
  EXPECT_EQ(verdict.phantom, 0u);
  EXPECT_EQ(verdict.duplicated, 0u);
}

}  // namespace
}  // namespace outbox::testing
