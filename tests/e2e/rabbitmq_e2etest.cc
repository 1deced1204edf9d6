// The relay and RabbitMQ: a broker that is killed under load, and one that is short of memory or
// disk.
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

TEST_F(RabbitMqEndToEnd, AlarmsHoldMessagesBackAndCostNoAttempt) {
  constexpr std::chrono::seconds kMemoryAlarm{30};
  OUTBOX_MAKE_STAGE(stage, Dialect::kPostgres);
  const Flags flags{"--sink",  Uri(100), "--batch-size",       "100", "--window", "200",
                    "--lease", "10s",    "--dispatch-timeout", "2m"};
  const auto relay = stage->StartRelay("relay", flags);
  Producer producer(stage->url(), {.per_transaction = 20, .pause = std::chrono::milliseconds(20)});
  // At a standstill: many looks in a row see the same, and messages are held.
  const auto wait_for_standstill = [&] {
    constexpr int kLooks = 200;
    std::int64_t delivered = -1;
    int same = 0;
    EXPECT_TRUE(WaitFor([&] {
      const std::int64_t before = std::exchange(delivered, stage->Count("delivered"));
      same = before == delivered ? same + 1 : 0;
      return same >= kLooks && stage->Leased() > 0;
    }));
    return delivered;
  };
  const auto expect_flow_after = [&](std::int64_t delivered) {
    EXPECT_TRUE(WaitFor([&] { return stage->Count("delivered") > delivered + 500; }))
        << relay->Errors();
  };
  expect_flow_after(0);

  // Longer than the lease: the length of the alarm is what is tested.
  ASSERT_TRUE(rabbit_->SetMemoryAlarm(true));
  std::int64_t delivered = wait_for_standstill();
  std::this_thread::sleep_for(kMemoryAlarm);
  EXPECT_EQ(stage->Count("delivered"), delivered);
  ASSERT_TRUE(rabbit_->SetMemoryAlarm(false));
  expect_flow_after(delivered);

  // Until the leases of what is held have been seen to be extended.
  ASSERT_TRUE(rabbit_->SetDiskAlarm(true));
  delivered = wait_for_standstill();
  const auto lease_end = [&] {
    return stage->sql().Number(StrCat("SELECT coalesce(extract(epoch FROM min(locked_until)), 0)",
                                      "::bigint FROM ", kTable, " WHERE status = 'processing'"));
  };
  const std::int64_t end = lease_end();
  EXPECT_TRUE(WaitFor([&] { return lease_end() > end + 1; }));
  EXPECT_EQ(stage->sql().Number(StrCat("SELECT count(*) FROM ", kTable,
                                       " WHERE status = 'processing' AND locked_until < now()")),
            0);
  EXPECT_EQ(stage->Count("delivered"), delivered);
  ASSERT_TRUE(rabbit_->SetDiskAlarm(false));
  expect_flow_after(delivered);

  producer.Stop();
  ASSERT_TRUE(WaitFor([&] { return stage->Unfinished() == 0; })) << relay->Errors();

  EXPECT_EQ(stage->sql().Number(StrCat("SELECT count(*) FROM ", kTable, " WHERE attempts <> 1")),
            0);
  const Verdict verdict = Judge(*stage);
  PrintVerdict("RabbitMQ short of memory and disk", verdict, 2, 0);
  EXPECT_EQ(verdict.lost, 0u);
  EXPECT_EQ(verdict.phantom, 0u);
  EXPECT_EQ(verdict.duplicated, 0u);
}

}  // namespace
}  // namespace outbox::testing
