// The relay inside an application: what its callbacks may do to it, and what it records of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <set>
#include <stdexcept>

#include "base/text.h"
#include "outbox/relay.h"
#include "store/backend.h"
#include "tests/e2e/support/sql.h"
#include "tests/e2e/support/stage.h"
#include "tests/support/matchers.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

// A door that callbacks wait at until the test opens it.
class Door {
 public:
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

class Counter final : public RelayObserver {
 public:
  void OnDead(const Message&, const Status&) override { ++dead; }
  void OnStateChanged(std::string_view, RelayState state, std::string_view) override {
    if (state == RelayState::kWaitingForSink) ++paused;
  }
  void OnStoreError(std::string_view, std::string_view operation, const Status& error,
                    Duration) override {
    if (operation == "settle" && error.message().starts_with("the outcome of message ")) {
      ++not_recorded;
    }
  }
  std::atomic<int> dead{0};
  std::atomic<int> paused{0};
  std::atomic<int> not_recorded{0};
};

class InProcessRelay : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/outbox-relay.XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    url_ = StrCat("sqlite:", folder_, "/shop.db");
    const Deadline deadline = Deadline::After(seconds(30));
    ASSERT_OK((*(*store::OpenBackend(url_))->OpenMigrator(deadline))
                  ->Up({.table = std::string(kTable)}, deadline));
    sql_ = SqlConnection::Open(url_);
  }
  void TearDown() override {
    door_.Open();
    relay_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void Enqueue(const std::string& kind, std::size_t count) {
    std::vector<NewMessage> messages(count, {.topic = "orders.order.created.v1",
                                             .payload = StrCat(R"({"kind":")", kind, R"("})")});
    ASSERT_TRUE(sql_->Execute("BEGIN IMMEDIATE"));
    ASSERT_OK(sql_->EnqueueMany(kTable, messages));
    ASSERT_TRUE(sql_->Execute("COMMIT"));
  }

  static bool Is(const Message& message, std::string_view kind) {
    return message.payload.find(kind) != std::string::npos;
  }

  void Start(Handler handler, RelayOptions options = {}) {
    options.table = kTable;
    options.poll_max = milliseconds(20);
    auto relay = Relay::Start(url_, options, MakeCallbackSink(std::move(handler), 4), counter_);
    ASSERT_OK(relay);
    relay_ = std::move(*relay);
  }

  std::int64_t Count(std::string_view where) {
    return sql_->Number(StrCat("SELECT count(*) FROM ", kTable, " WHERE ", where));
  }

  std::string folder_;
  std::string url_;
  std::unique_ptr<SqlConnection> sql_;
  std::shared_ptr<Counter> counter_ = std::make_shared<Counter>();
  Door door_;  // outlives the relay: callbacks may wait at it
  std::unique_ptr<Relay> relay_;
};

RelayOptions QuickRetries(int attempts_max) {
  RelayOptions options;
  options.retry = {.base = milliseconds(20), .cap = milliseconds(50), .attempts_max = attempts_max};
  return options;
}

TEST_F(InProcessRelay, StartsAlthoughTheSinkHangsInItsFirstOpen) {
  struct Hanging final : Sink {
    explicit Hanging(Door& where) : door(where) {}
    std::string_view name() const noexcept override { return "hanging"; }
    Status Open(Deadline) override {
      if (opened++ == 0) door.Wait();
      return Status::Ok();
    }
    void Publish(std::span<const Message>, std::span<Status> results, Deadline) override {
      for (Status& result : results) result = Status::Ok();
    }
    Door& door;
    std::atomic<int> opened{0};
  };
  Enqueue("good", 3);
  const auto sink = std::make_shared<Hanging>(door_);
  auto relay =
      Relay::Start(url_, {.table = std::string(kTable), .poll_max = milliseconds(20)}, sink);
  ASSERT_OK(relay);  // it would not come back before the door opens
  relay_ = std::move(*relay);
  EXPECT_EQ(sink->opened, 1);
  door_.Open();
  EXPECT_TRUE(WaitFor([&] { return Count("status = 'delivered' AND attempts = 1") == 3; }));
}

TEST_F(InProcessRelay, PoisonDoesNotDelayOthers) {
  Enqueue("poison", 20);
  Enqueue("good", 200);
  RelayOptions options = QuickRetries(20);
  options.retry.base = options.retry.cap = std::chrono::minutes(5);
  Start(
      [](const Message& message, Deadline) {
        return Is(message, "poison") ? Status::Retry(Code::kRejected, "can not digest this")
                                     : Status();
      },
      options);
  EXPECT_TRUE(WaitFor([&] { return Count("status = 'delivered'") == 200; }));
  EXPECT_TRUE(WaitFor([&] {
    return Count("status = 'pending' AND attempts = 1 AND last_error LIKE '%can not digest%'") ==
           20;
  }));
}

TEST_F(InProcessRelay, AHangingCallbackHitsItsDeadlineWhileOthersFlow) {
  Enqueue("hang", 1);
  Enqueue("good", 100);
  RelayOptions options = QuickRetries(1);
  // More than a busy machine takes for the good ones, which have one attempt as well.
  options.dispatch_timeout = seconds(3);
  Start(
      [&](const Message& message, Deadline) {
        if (Is(message, "hang")) door_.Wait();
        return Status::Ok();
      },
      options);
  EXPECT_TRUE(WaitFor([&] { return Count("status = 'delivered'") == 100; }));
  EXPECT_TRUE(WaitFor([&] { return Count("status = 'dead'") == 1; }));
  EXPECT_EQ(Count("status = 'dead' AND last_error LIKE '%dispatch timeout of 3s%'"), 1);
}

TEST_F(InProcessRelay, AnExceptionIsAFailedAttempt) {
  Enqueue("throw", 1);
  Enqueue("odd", 1);
  Enqueue("good", 10);
  Start(
      [](const Message& message, Deadline) -> Status {
        if (Is(message, "throw")) throw std::runtime_error("out of paper");
        if (Is(message, "odd")) throw 42;
        return Status::Ok();
      },
      QuickRetries(3));
  EXPECT_OK(relay_->Drain(Deadline::After(kPatience)));
  EXPECT_EQ(Count("status = 'delivered'"), 10);
  EXPECT_EQ(Count("status = 'dead' AND attempts = 3 AND last_error LIKE '%out of paper%'"), 1);
  EXPECT_EQ(Count("status = 'dead' AND attempts = 3"), 2);
  EXPECT_OK(relay_->Stop());
  EXPECT_EQ(counter_->dead, 2) << "each dead message is told once";
}

TEST_F(InProcessRelay, AMessageGetsExactlyItsAttempts) {
  Enqueue("bad", 5);
  std::atomic<int> calls{0};
  Start(
      [&](const Message&, Deadline) {
        ++calls;
        return Status::Retry(Code::kRejected, "no");
      },
      QuickRetries(4));
  EXPECT_OK(relay_->Drain(Deadline::After(kPatience)));
  EXPECT_OK(relay_->Stop());
  EXPECT_EQ(calls, 20);
  EXPECT_EQ(counter_->dead, 5);
  EXPECT_EQ(relay_->Stats().dead, 5u);
  EXPECT_EQ(Count("status = 'dead' AND attempts = 4"), 5);
}

TEST_F(InProcessRelay, APermanentFailureIsDeadAtOnce) {
  Enqueue("bad", 1);
  Start([](const Message&,
           Deadline) { return Status::Permanent(Code::kRejected, "no such address"); },
        QuickRetries(10));
  EXPECT_OK(relay_->Drain(Deadline::After(kPatience)));
  EXPECT_EQ(Count("status = 'dead' AND attempts = 1"), 1);
}

TEST_F(InProcessRelay, StopsInTimeWhileACallbackHangs) {
  Enqueue("hang", 4);
  RelayOptions options;
  options.shutdown_timeout = milliseconds(300);
  std::atomic<int> entered{0};
  Start(
      [&](const Message&, Deadline) {
        ++entered;
        door_.Wait();
        return Status::Ok();
      },
      options);
  ASSERT_TRUE(WaitFor([&] { return entered == 4; }));
  const auto asked = Clock::now();
  EXPECT_FALSE(relay_->Stop().ok()) << "calls were left behind, and it must say so";
  EXPECT_LT(Clock::now() - asked, seconds(20));
  EXPECT_EQ(Count("locked_by IS NOT NULL"), 0) << "a lease was left behind";
}

TEST_F(InProcessRelay, AnOutageCostsNoAttempts) {
  Enqueue("good", 50);
  std::atomic<bool> down{true};
  RelayOptions options = QuickRetries(2);
  options.probe_min = options.probe_max = milliseconds(10);
  std::atomic<int> refused{0};
  Start(
      [&](const Message&, Deadline) {
        if (!down) return Status::Ok();
        ++refused;
        return Status::SinkDown("connection refused");
      },
      options);
  ASSERT_TRUE(WaitFor([&] { return refused > 20 && counter_->paused > 0; }));
  EXPECT_EQ(Count("status = 'dead'"), 0);
  down = false;
  EXPECT_OK(relay_->Drain(Deadline::After(kPatience)));
  EXPECT_EQ(Count("status = 'delivered' AND attempts = 1"), 50);
}

TEST_F(InProcessRelay, AnOutcomeThatTheDatabaseRefusesTakesNoOthersAlong) {
  ASSERT_TRUE(sql_->Execute(StrCat("CREATE TRIGGER no BEFORE UPDATE ON ", kTable,
                                   " WHEN NEW.status = 'delivered' AND "
                                   "instr(CAST(OLD.payload AS TEXT), 'cursed') > 0 "
                                   "BEGIN SELECT RAISE(ABORT, 'not this one'); END")));
  Enqueue("plain", 30);
  Enqueue("cursed", 1);
  Enqueue("plain", 30);
  std::atomic<int> plain{0};
  RelayOptions options;
  options.lease = std::chrono::minutes(10);
  Start(
      [&](const Message& message, Deadline) {
        if (Is(message, "plain")) ++plain;
        return Status::Ok();
      },
      options);
  EXPECT_TRUE(WaitFor([&] { return Count("status = 'delivered'") == 60; }));
  EXPECT_EQ(plain, 60) << "delivered again";
  EXPECT_TRUE(WaitFor([&] { return counter_->not_recorded == 1; }));
  EXPECT_EQ(Count("status = 'processing'"), 1);
}

TEST_F(InProcessRelay, RefusesMoreThreadsThanAMachineHas) {
  const auto handler = [](const Message&, Deadline) { return Status(); };
  const auto relay = Relay::Start(url_, {.table = std::string(kTable)},
                                  MakeCallbackSink(handler, 200'000), counter_);
  EXPECT_THAT(relay, HasCode(Code::kInvalidArgument));
  EXPECT_THAT(relay.error().message(), ::testing::HasSubstr("1024"));
}

TEST_F(InProcessRelay, AHandlerMayDestroyItsRelay) {
  Enqueue("last", 1);
  const auto sink = MakeCallbackSink([&](const Message&, Deadline) {
    door_.Wait();
    relay_.reset();
    return Status();
  });
  auto relay = Relay::Start(url_, {.table = std::string(kTable)}, sink, counter_);
  ASSERT_OK(relay);
  relay_ = std::move(*relay);
  door_.Open();
  EXPECT_TRUE(WaitFor([&] { return Count("status = 'delivered'") == 1; }));
  EXPECT_TRUE(WaitFor([&] { return sink.use_count() == 1; })) << "its threads are still there";
}

TEST_F(InProcessRelay, LastErrorIsCutAndFreeOfPayloadAndSecrets) {
  const std::string canary = "canary-payload-" + std::string(60, 'p');
  Enqueue(canary, 1);
  Start([&](const Message& message, Deadline) {
    return Status::Permanent(Code::kRejected, StrCat("refused ", message.payload,
                                                     " by https://bob:canary-password@host/ "
                                                     "password=canary-secret ",
                                                     std::string(10'000, 'e')));
  });
  EXPECT_OK(relay_->Drain(Deadline::After(kPatience)));
  const auto error = sql_->Column(StrCat("SELECT last_error FROM ", kTable));
  ASSERT_EQ(error.size(), 1u);
  EXPECT_EQ(error[0].find("canary"), std::string::npos) << error[0];
  EXPECT_NE(error[0].find("refused"), std::string::npos) << error[0];
  EXPECT_LE(error[0].size(), 2048u);
}

TEST_F(InProcessRelay, DeliversTheBytesThatWereEnqueued) {
  const std::string payload = "{ \"a\" :  1.0, \"a\":\"\\u00e9\" ,\n \"b\": [ ] }";
  ASSERT_TRUE(sql_->Execute("BEGIN IMMEDIATE"));
  const NewMessage message{
      .topic = "orders.order.created.v1",
      .payload = payload,
      .key = "k",
      .headers = {{"source", "test"}},
      .traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"};
  ASSERT_OK(sql_->EnqueueMany(kTable, std::span(&message, 1)));
  ASSERT_TRUE(sql_->Execute("COMMIT"));
  std::mutex mutex;
  std::optional<Message> got;
  Start([&](const Message& delivered, Deadline) {
    const std::lock_guard lock(mutex);
    got = delivered;
    return Status::Ok();
  });
  EXPECT_OK(relay_->Drain(Deadline::After(kPatience)));
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->payload, payload);
  EXPECT_EQ(got->key, "k");
  EXPECT_EQ(got->attempt, 1);
  EXPECT_EQ(got->Header("source"), "test");
  EXPECT_EQ(got->Header(kTraceparentHeader), message.traceparent);
}

}  // namespace
}  // namespace outbox::testing
