// The relay, and a NATS or Redis server that is killed under load: what it has confirmed is on its
// disk.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/text.h"
#include "tests/conformance/nats_server.h"
#include "tests/conformance/redis_server.h"
#include "tests/e2e/support/broker_kills.h"
#include "tests/e2e/support/dialects.h"
#include "tests/e2e/support/producer.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;

class NatsEndToEnd : public ::testing::Test {
 protected:
  void SetUp() override { OUTBOX_REQUIRE_PROGRAM("nats-server"); }

  // With one stream that remembers ids for `window`.
  bool Start(std::chrono::nanoseconds window) {
    server_ = NatsServer::Start();
    return server_ != nullptr && server_->AddStream(kStream, "orders.>", [&](jsStreamConfig& c) {
      c.Duplicates = window.count();
    });
  }
  std::string Sink() const {
    return StrCat("nats://app:secret@", server_->address(), "?stream=", kStream);
  }
  // Committed against what is in the stream.
  Verdict Judge(Stage& stage) {
    Ledger ledger = stage.Committed();
    for (const auto& stored : server_->Messages(kStream)) {
      ledger.See(stored.headers.at("outbox-id"));
    }
    return ledger.Judge();
  }
  // A relay dies when a batch has been confirmed and not settled, and the server after it. The next
  // relay repeats the batch, to a server that knows it from its disk only.
  void RepeatABatch(Stage& stage) {
    ASSERT_TRUE(Produce(stage.sql(), {.per_transaction = kBatch, .rollback_percent = 0}, 1));
    const std::string batch = std::to_string(kBatch);
    const Flags flags{"--sink", Sink(), "--batch-size", batch, "--window", batch, "--lease", "1s"};
    const auto relay = stage.StartRelay("relay", flags,
                                        {.environment = {{"OUTBOX_FAILPOINT", "after_publish:1"}}});
    ASSERT_EQ(relay->Wait(kPatience), 137) << relay->Errors();
    server_->process().Kill();
    ASSERT_TRUE(server_->process().StartAgain());
    ASSERT_EQ(server_->Messages(kStream).size(), kBatch);
    // With a longer lease, which it keeps also where it has to wait for the machine.
    ASSERT_TRUE(stage.Drain("relay", {"--sink", Sink(), "--batch-size", batch, "--window", batch}));
  }

  static constexpr std::chrono::hours kLongerThanATest{1};
  static constexpr std::size_t kBatch = 50;
  const std::string kStream = "ORDERS";
  std::unique_ptr<NatsServer> server_;
};

TEST_F(NatsEndToEnd, AServerKilledUnderLoadLosesAndRepeatsNothing) {
  OUTBOX_MAKE_STAGE(stage, Dialect::kPostgres);
  ASSERT_TRUE(Start(kLongerThanATest));
  BrokerKills kills(*stage, server_->process(), {.sink = Sink()});
  ASSERT_NO_FATAL_FAILURE(kills.Run());
  kills.ExpectNothingLost("NATS killed", Judge(*stage), 0);
}

TEST_F(NatsEndToEnd, AKilledServerKnowsWhatIsRepeated) {
  OUTBOX_MAKE_STAGE(stage, Dialect::kPostgres);
  ASSERT_TRUE(Start(kLongerThanATest));
  ASSERT_NO_FATAL_FAILURE(RepeatABatch(*stage));
  const Verdict verdict = Judge(*stage);
  PrintVerdict("NATS and relay killed", verdict, 2, 0);
  EXPECT_EQ(verdict.lost + verdict.phantom + verdict.duplicated, 0u);
}

TEST_F(NatsEndToEnd, WhatIsRepeatedAfterTheWindowIsStoredAgain) {
  OUTBOX_MAKE_STAGE(stage, Dialect::kPostgres);
  ASSERT_TRUE(Start(std::chrono::milliseconds(100)));  // less than the lease of the dead relay
  ASSERT_NO_FATAL_FAILURE(RepeatABatch(*stage));
  const Verdict verdict = Judge(*stage);
  PrintVerdict("NATS and relay killed, the window over", verdict, 2, kBatch);
  EXPECT_EQ(verdict.lost + verdict.phantom, 0u);
  EXPECT_EQ(verdict.duplicated, kBatch);
}

class RedisEndToEnd : public ::testing::Test {
 protected:
  void SetUp() override { OUTBOX_REQUIRE_PROGRAM("redis-server"); }

  bool Start(const std::string& config = "") {
    server_ = RedisServer::Start(config);
    return server_ != nullptr;
  }
  std::string Sink() const { return StrCat("redis://app:secret@", server_->address()); }
  // Committed against what is in the stream.
  Verdict Judge(Stage& stage) {
    // It accepts connections before it has read its file.
    EXPECT_TRUE(WaitFor([&] { return server_->Ask({"PING"}) == "PONG"; }));
    Ledger ledger = stage.Committed();
    for (const auto& entry : server_->Entries("orders.order.created.v1")) {
      ledger.See(entry.Field("id"));
    }
    return ledger.Judge();
  }

  std::unique_ptr<RedisServer> server_;
};

TEST_F(RedisEndToEnd, AServerKilledUnderLoadLosesNothing) {
  OUTBOX_MAKE_STAGE(stage, Dialect::kPostgres);
  ASSERT_TRUE(Start());
  BrokerKills kills(*stage, server_->process(), {.sink = Sink()});
  ASSERT_NO_FATAL_FAILURE(kills.Run());
  kills.ExpectNothingLost("Redis killed", Judge(*stage), kills.in_doubt_max());
}

TEST_F(RedisEndToEnd, WithDedupeAServerKilledUnderLoadRepeatsNothing) {
  OUTBOX_MAKE_STAGE(stage, Dialect::kPostgres);
  ASSERT_TRUE(Start());
  // Redis adds what is whole of a torn transaction at its second start, whatever the script knows.
  BrokerKills kills(*stage, server_->process(),
                    {.sink = Sink() + "?dedupe=1h", .tears_writes = false});
  ASSERT_NO_FATAL_FAILURE(kills.Run());
  kills.ExpectNothingLost("Redis with dedupe killed", Judge(*stage), 0);
}

TEST_F(RedisEndToEnd, AKilledServerThatStoresNothingIsFoundOut) {
  OUTBOX_MAKE_STAGE(stage, Dialect::kPostgres);
  ASSERT_TRUE(Start("appendonly no\n"));
  BrokerKills kills(*stage, server_->process(), {.sink = Sink(), .kills = 2});
  ASSERT_NO_FATAL_FAILURE(kills.Run());
  const Verdict verdict = Judge(*stage);
  PrintVerdict("Redis without a file killed", verdict, 2, kills.in_doubt_max());
  EXPECT_GT(verdict.lost, 0u);
}

}  // namespace
}  // namespace outbox::testing
