// The relay and RabbitMQ: a broker that is killed under load, and one that is short of memory or
// disk; what profiles say of bodies, and of messages that no queue takes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "tests/e2e/support/broker_kills.h"
#include "tests/e2e/support/dialects.h"
#include "tests/e2e/support/producer.h"
#include "tests/support/matchers.h"
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

  static void Enqueue(Stage& stage, const NewMessage& message) {
    ASSERT_TRUE(stage.sql().Execute("BEGIN"));
    ASSERT_OK(stage.sql().EnqueueMany(kTable, {&message, 1}));
    ASSERT_TRUE(stage.sql().Execute("COMMIT"));
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

TEST_F(RabbitMqEndToEnd, OrdersSendsEnvelopesUnlessTheAddressSaysOtherwise) {
  OUTBOX_MAKE_STAGE(stage, Dialect::kPostgres);
  const std::string payload = R"({"total": 12.50,  "note": "as written"})";
  RabbitClient client(*rabbit_);
  const auto sent = [&](const Flags& flags) {
    Enqueue(*stage, {.topic = "orders.order.created.v1", .payload = payload});
    EXPECT_TRUE(stage->Drain("relay", flags));
    const auto message = client.Get(kName);
    EXPECT_TRUE(message.has_value());
    return message.value_or(RabbitMessage{});
  };
  const RabbitMessage message = sent({"--profile", "orders", "--sink", Uri(50)});
  const auto body = nlohmann::json::parse(message.body, nullptr, false);
  ASSERT_TRUE(body.is_object()) << message.body;
  EXPECT_EQ(body.value("messageId", ""), message.message_id);
  EXPECT_EQ(body.value("topic", ""), "orders.order.created.v1");
  EXPECT_NE(message.body.find(payload), std::string::npos) << "unchanged: " << message.body;
  EXPECT_EQ(stage->sql().Number(StrCat("SELECT count(*) FROM ", kTable, " WHERE id = '",
                                       message.message_id, "' AND status = 'delivered'")),
            1);
  EXPECT_EQ(sent({"--profile", "orders", "--sink", Uri(50) + "&body=plain"}).body, payload);
  EXPECT_EQ(sent({"--profile", "orders", "--body", "plain", "--sink", Uri(50)}).body, payload);
  EXPECT_EQ(sent({"--sink", Uri(50)}).body, payload);
}

// What is noted of each outcome: attempts, and the seconds until the next; "dead" for the last one.
std::vector<std::string> WaitsOf(Stage& stage, const Flags& flags, std::size_t outcomes) {
  SqlConnection& sql = stage.sql();
  EXPECT_TRUE(sql.Execute("CREATE TABLE waits (n serial, text text)"));
  EXPECT_TRUE(sql.Execute(StrCat(
      "CREATE FUNCTION note_wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
      " INSERT INTO public.waits (text) VALUES (NEW.attempts || ': ' || CASE NEW.status"
      " WHEN 'pending' THEN extract(epoch FROM NEW.available_at - NEW.updated_at)::float8::text"
      " ELSE NEW.status::text END); RETURN NULL; END $$")))
      << sql.error();
  EXPECT_TRUE(sql.Execute(
      StrCat("CREATE TRIGGER note_wait AFTER UPDATE ON ", kTable,
             " FOR EACH ROW WHEN (NEW.status <> 'processing' AND OLD.updated_at <> NEW.updated_at)"
             " EXECUTE FUNCTION note_wait()")))
      << sql.error();
  const auto relay = stage.StartRelay("relay", flags);
  EXPECT_TRUE(WaitFor([&] {
    // What waits is due now.
    return sql.Execute(StrCat("UPDATE ", kTable, " SET available_at = now() WHERE status = ",
                              "'pending' AND available_at > now()")) &&
           sql.Number("SELECT count(*) FROM waits") >= static_cast<std::int64_t>(outcomes);
  })) << relay->Errors();
  return sql.Column(StrCat("SELECT text FROM waits ORDER BY n LIMIT ", std::to_string(outcomes)));
}

TEST_F(RabbitMqEndToEnd, OrdersAndDomainEventsWaitAsTabled) {
  using Waits = std::vector<std::string>;
  const std::string sink = Uri(50) + "&mandatory=true";
  const NewMessage unbound{.topic = "family.invitation.created.v1", .payload = "{}"};
  {
    OUTBOX_MAKE_STAGE(stage, Dialect::kPostgres);
    Enqueue(*stage, unbound);
    EXPECT_EQ(WaitsOf(*stage, {"--profile", "orders", "--sink", sink}, 6),
              (Waits{"1: 1", "2: 2", "3: 4", "4: 8", "5: 16", "6: dead"}));
  }
  OUTBOX_MAKE_STAGE(stage, Dialect::kPostgres);
  Enqueue(*stage, unbound);
  EXPECT_EQ(WaitsOf(*stage,
                    {"--profile", "domain-events", "--poll-interval", "100ms", "--sink", sink}, 10),
            (Waits{"1: 1", "2: 2", "3: 5", "4: 15", "5: 60", "6: 300", "7: 900", "8: 900", "9: 900",
                   "10: 900"}));
}

TEST_F(RabbitMqEndToEnd, DomainEventsPublishesWhatNobodyBinds) {
  OUTBOX_MAKE_STAGE(stage, Dialect::kPostgres);
  const NewMessage unbound{.topic = "family.invitation.created.v1", .payload = "{}"};
  const auto drain = [&](const Flags& flags) {
    Enqueue(*stage, unbound);
    // One attempt: whoever fails is dead, and the drain ends with 1.
    Flags all{"--drain", "--max-attempts", "1"};
    all.insert(all.end(), flags.begin(), flags.end());
    return stage->StartRelay("relay", all)->Wait(kPatience);
  };
  EXPECT_EQ(drain({"--profile", "domain-events", "--sink", Uri(50)}), 0);
  EXPECT_EQ(stage->Count("delivered"), 1);
  EXPECT_EQ(stage->Count("dead"), 0);
  EXPECT_EQ(drain({"--sink", Uri(50)}), 1);
  EXPECT_EQ(drain({"--profile", "domain-events", "--sink", Uri(50) + "&mandatory=true"}), 1);
  EXPECT_EQ(stage->Count("delivered"), 1);
  EXPECT_EQ(stage->Count("dead"), 2);
}

}  // namespace
}  // namespace outbox::testing
