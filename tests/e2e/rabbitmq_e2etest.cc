// The relay and RabbitMQ: a broker that is killed under load, and one that is short of memory.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/text.h"
#include "tests/e2e/support/broker_kills.h"
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
    Ledger ledger = stage.Committed();
    RabbitClient client(*rabbit_);
    while (const auto message = client.Get(kName)) ledger.See(message->message_id);
    return ledger.Judge();
  }

  const std::string kName = "orders";
  std::unique_ptr<RabbitMq> rabbit_;
};

TEST_F(RabbitMqEndToEnd, ABrokerKilledUnderLoadLosesNothing) {
  constexpr std::size_t kBatch = 50;
  OUTBOX_MAKE_STAGE(stage, Dialect::kPostgres);
  BrokerKills kills(*stage, rabbit_->server(), {.sink = Uri(kBatch), .batch = kBatch});
  ASSERT_NO_FATAL_FAILURE(kills.Run());
  kills.ExpectNothingLost("RabbitMQ killed", Judge(*stage), kills.in_doubt_max());
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
