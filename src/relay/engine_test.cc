#include "relay/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <latch>
#include <set>
#include <stdexcept>
#include <utility>

#include "store/memory/memory_store.h"
#include "tests/support/matchers.h"

namespace outbox::relay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using store::MemoryStore;

constexpr seconds kPatience{30};

// Waits for a condition; false when it does not come true.
bool Eventually(const std::function<bool()>& condition) {
  const Deadline deadline = Deadline::After(kPatience);
  while (!condition()) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
}

class Recorder : public RelayObserver {
 public:
  void OnDead(const Message&, const Status&) override { ++dead; }
  void OnLeaseLost(const Message&) override { ++lost; }
  void OnLeaderChanged(std::string_view, bool leading) override {
    leader_changes += leading ? 1 : 100;
  }
  void OnStateChanged(std::string_view, RelayState state, std::string_view) override {
    if (state == RelayState::kWaitingForSink) ++pauses;
  }
  std::atomic<int> dead{0};
  std::atomic<int> lost{0};
  std::atomic<int> leader_changes{0};
  std::atomic<int> pauses{0};
};

class EngineTest : public ::testing::Test {
 protected:
  EngineTest() {
    options_.table = "t";
    options_.poll_min = milliseconds(1);
    options_.poll_max = milliseconds(20);
    options_.retry = {.base = milliseconds(5),
                      .cap = milliseconds(20),
                      .jitter = Jitter::kNone,
                      .attempts_max = 3};
    options_.probe_min = milliseconds(5);
    options_.probe_max = milliseconds(20);
    options_.shutdown_timeout = seconds(5);
  }

  void Put(int count, const std::string& payload = "{}") {
    for (int i = 0; i < count; ++i) {
      store_.Put({.topic = "test.message.put.v1", .payload = payload});
    }
  }

  std::shared_ptr<Engine> Start(std::shared_ptr<Sink> sink, const std::string& relay_id = "r") {
    return *Engine::Start(options_, "t", store_.OpenRelay({.table = "t", .relay_id = relay_id}),
                          std::move(sink), recorder_);
  }

  std::size_t Count(MessageStatus status) const {
    std::size_t count = 0;
    for (const auto& row : store_.Rows()) count += row.status == status ? 1U : 0U;
    return count;
  }

  MemoryStore store_;
  RelayOptions options_;
  std::shared_ptr<Recorder> recorder_ = std::make_shared<Recorder>();
};

TEST_F(EngineTest, DeliversEachMessageOnce) {
  Put(3000);
  std::atomic<int> calls{0};
  const auto engine = Start(MakeCallbackSink([&](const Message&, Deadline) {
    ++calls;
    return Status::Ok();
  }));
  ASSERT_OK(engine->Drain(Deadline::After(kPatience)));
  ASSERT_OK(engine->Stop());
  EXPECT_EQ(calls, 3000);
  EXPECT_EQ(Count(MessageStatus::kDelivered), 3000U);
  EXPECT_EQ(engine->Stats().delivered, 3000U);
  EXPECT_EQ(engine->Stats().in_flight, 0U);
}

TEST_F(EngineTest, WakesUpForAMessageCommittedWhileIdle) {
  options_.poll_min = options_.poll_max = std::chrono::hours(1);
  std::atomic<int> calls{0};
  const auto engine = Start(MakeCallbackSink([&](const Message&, Deadline) {
    ++calls;
    return Status::Ok();
  }));
  // The first may be found by the first look; looks without a call are an hour apart.
  for (int i = 1; i <= 5; ++i) {
    Put(1);
    EXPECT_TRUE(Eventually([&] { return calls == i; }));
  }
  ASSERT_OK(engine->Stop());
}

TEST_F(EngineTest, ClaimsNothingWhilePaused) {
  std::atomic<int> calls{0};
  const auto engine = Start(MakeCallbackSink([&](const Message&, Deadline) {
    ++calls;
    return Status::Ok();
  }));
  Put(10);
  EXPECT_TRUE(Eventually([&] { return calls == 10; }));
  engine->Pause(true);
  EXPECT_TRUE(Eventually([&] { return engine->Stats().state == RelayState::kPaused; }));
  // A claim that was under way when it was paused is given back.
  Put(100);
  engine->Wake();
  EXPECT_TRUE(Eventually([&] { return engine->Stats().in_flight == 0; }));
  EXPECT_EQ(calls, 10);
  engine->Pause(false);
  EXPECT_TRUE(Eventually([&] { return calls == 110; }));
  ASSERT_OK(engine->Stop());
  EXPECT_EQ(Count(MessageStatus::kDelivered), 110U);
}

TEST_F(EngineTest, ThrowingHandlersAreFailuresAndDieAfterTheLastAttempt) {
  Put(1, R"({"poison":true})");
  Put(50);
  std::atomic<int> poison_calls{0};
  const auto engine = Start(MakeCallbackSink([&](const Message& message, Deadline) -> Status {
    if (message.payload == "{}") return Status::Ok();
    ++poison_calls;
    throw std::runtime_error("bad " + message.payload);
  }));
  ASSERT_OK(engine->Drain(Deadline::After(kPatience)));
  ASSERT_OK(engine->Stop());
  EXPECT_EQ(poison_calls, 3);
  EXPECT_EQ(recorder_->dead, 1);
  EXPECT_EQ(Count(MessageStatus::kDead), 1U);
  EXPECT_EQ(Count(MessageStatus::kDelivered), 50U);
  for (const auto& row : store_.Rows()) {
    EXPECT_THAT(row.last_error, ::testing::Not(::testing::HasSubstr("poison")));
  }
}

TEST_F(EngineTest, NobodyIsToldThePayloadThatAHandlerQuotes) {
  struct Listener final : Recorder {
    void OnPublished(const Message&, const Status& result, Duration) override {
      Add(result.ToString() + result.hint());
    }
    void OnStateChanged(std::string_view, RelayState, std::string_view why) override {
      Add(std::string(why));
    }
    void Add(const std::string& text) {
      const std::lock_guard lock(mutex);
      told += text;
    }
    std::string Told() {
      const std::lock_guard lock(mutex);
      return told;
    }
    std::mutex mutex;
    std::string told;
  };
  const auto listener = std::make_shared<Listener>();
  recorder_ = listener;
  Put(2, R"({"name":"CANARY"})");
  std::atomic<int> calls{0};
  const auto engine = Start(MakeCallbackSink([&](const Message& message, Deadline) {
    return ++calls == 1 ? Status::Retry(Code::kRejected, "odd: " + message.payload)
                        : Status::SinkDown("away: " + message.payload);
  }));
  EXPECT_TRUE(Eventually([&] {
    const std::string told = listener->Told();
    return told.find("odd: ") != std::string::npos &&
           engine->Stats().state == RelayState::kWaitingForSink;
  }));
  ASSERT_OK(engine->Stop());
  EXPECT_THAT(listener->Told(), ::testing::HasSubstr("away: [payload]"));
  EXPECT_THAT(listener->Told(), ::testing::Not(::testing::HasSubstr("CANARY")));
}

TEST_F(EngineTest, HangingHandlerHitsItsDeadlineWhileOthersFlow) {
  // More than a busy machine takes for one of the others, which have no more attempts.
  options_.dispatch_timeout = seconds(2);
  options_.retry.attempts_max = 2;
  Put(1, R"({"hang":true})");
  Put(200);
  std::latch let_go(1);
  std::atomic<int> hanging{0};
  const auto engine = Start(MakeCallbackSink(
      [&](const Message& message, Deadline) {
        if (message.payload != "{}") {
          ++hanging;
          let_go.wait();
          --hanging;
        }
        return Status::Ok();
      },
      2));
  EXPECT_TRUE(Eventually([&] { return Count(MessageStatus::kDelivered) == 200; }));
  EXPECT_TRUE(Eventually([&] { return Count(MessageStatus::kDead) == 1; }));
  EXPECT_TRUE(Eventually([&] { return recorder_->dead == 1; }));
  // It does not wait for calls that still run, and says so.
  EXPECT_THAT(engine->Stop(), HasCode(Code::kDeadline));
  EXPECT_EQ(hanging, 2);
  let_go.count_down();
  EXPECT_TRUE(Eventually([&] { return hanging == 0; }));
}

// Keeps the settler busy: first until two calls are overdue, then, told of one of them, until both
// are back and others have been made.
class BusySettler final : public Recorder {
 public:
  BusySettler(std::function<void()> on_first_settled, std::function<void()> on_first_overdue)
      : on_first_settled_(std::move(on_first_settled)),
        on_first_overdue_(std::move(on_first_overdue)) {}

  void OnSettled(std::string_view, const SettleCounts&, Duration) override {
    if (on_first_settled_) std::exchange(on_first_settled_, nullptr)();
  }
  void OnPublished(const Message&, const Status& result, Duration) override {
    if (result.code() != Code::kDeadline || overdue_seen_.exchange(true)) return;
    on_first_overdue_();
  }

 private:
  std::function<void()> on_first_settled_;
  const std::function<void()> on_first_overdue_;
  std::atomic<bool> overdue_seen_{false};
};

// Counts the threads that have ended: one whose call was given up ends when the engine knows that
// it is back.
struct ThreadEnd {
  ~ThreadEnd() {
    if (ended != nullptr) ++*ended;
  }
  std::atomic<int>* ended = nullptr;
};

TEST_F(EngineTest, CallsThatComeBackWhileTheyAreGivenUpDoNotLookLikeMany) {
  // More than a busy machine takes for a quick one.
  options_.dispatch_timeout = seconds(2);
  options_.batch_size = 3;
  Put(2, R"({"hang":true})");
  Put(1);
  std::latch let_go(1);
  std::atomic<int> hanging{0};
  std::atomic<int> gone{0};
  std::atomic<int> quick{0};
  const auto overdue = [&] {
    Eventually([&] { return hanging == 2; });
    std::this_thread::sleep_for(options_.dispatch_timeout + seconds(1));
  };
  const auto back = [&] {
    let_go.count_down();
    EXPECT_TRUE(Eventually([&] { return gone == 2; }));
    Put(3);
    Eventually([&] { return quick == 4 || recorder_->pauses > 0; });
  };
  recorder_ = std::make_shared<BusySettler>(overdue, back);
  const auto engine = Start(MakeCallbackSink(
      [&](const Message& message, Deadline) {
        if (message.payload == "{}") {
          ++quick;
          return Status::Ok();
        }
        thread_local ThreadEnd end;
        end.ended = &gone;
        ++hanging;
        let_go.wait();
        return Status::Ok();
      },
      3));
  EXPECT_TRUE(Eventually([&] { return Count(MessageStatus::kDelivered) == 6; }));
  EXPECT_EQ(recorder_->pauses, 0);
  ASSERT_OK(engine->Stop());
}

TEST_F(EngineTest, AnOutageCostsNoAttemptsAndEndsByItself) {
  Put(100);
  std::atomic<bool> down{true};
  std::atomic<int> calls{0};
  const auto engine = Start(MakeCallbackSink([&](const Message&, Deadline) {
    ++calls;
    return down ? Status::SinkDown("connection refused") : Status::Ok();
  }));
  EXPECT_TRUE(Eventually([&] { return calls >= 8; }));
  for (const auto& row : store_.Rows()) EXPECT_LE(row.message.attempt, 1);
  down = false;
  ASSERT_OK(engine->Drain(Deadline::After(kPatience)));
  ASSERT_OK(engine->Stop());
  EXPECT_GE(recorder_->pauses, 1);
  EXPECT_EQ(Count(MessageStatus::kDelivered), 100U);
  for (const auto& row : store_.Rows()) EXPECT_EQ(row.message.attempt, 1);
}

TEST_F(EngineTest, AMessageThatAloneFindsTheSinkDownDiesAndTheOthersAreDelivered) {
  Put(1, R"({"tenant":"locked"})");
  Put(40);
  const auto engine = Start(MakeCallbackSink(
      [&](const Message& message, Deadline) {
        return message.payload == "{}" ? Status::Ok() : Status::SinkDown("401 Unauthorized");
      },
      1));
  EXPECT_TRUE(Eventually([&] { return Count(MessageStatus::kDelivered) == 40U; }));
  // While nothing else is there it may be the sink; each further message shows that it is not.
  EXPECT_TRUE(Eventually([&] {
    if (Count(MessageStatus::kPending) <= 1) Put(1);
    return Count(MessageStatus::kDead) == 1U;
  }));
  ASSERT_OK(engine->Stop());
  EXPECT_EQ(store_.Rows().front().message.attempt, 3);
  EXPECT_THAT(store_.Rows().front().last_error, ::testing::HasSubstr("401"));
}

TEST_F(EngineTest, ASinkThatThrowsKeepsTheResultsItGave) {
  struct HalfWay final : Sink {
    std::string_view name() const noexcept override { return "half-way"; }
    SinkTraits traits() const noexcept override { return {.batch_max = 3, .concurrency = 1}; }
    Status Open(Deadline) override { return Status::Ok(); }
    void Publish(std::span<const Message>, std::span<Status> results, Deadline) override {
      results[0] = Status::Ok();
      // A text that a destination chose says nothing about what was attempted.
      if (results.size() > 1) results[1] = Status::Permanent(Code::kRejected, "not attempted");
      if (results.size() > 2) throw std::runtime_error("half-way");
    }
  };
  Put(3);
  const auto engine = Start(std::make_shared<HalfWay>());
  ASSERT_OK(engine->Drain(Deadline::After(kPatience)));
  ASSERT_OK(engine->Stop());
  const auto rows = store_.Rows();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].status, MessageStatus::kDelivered);
  EXPECT_EQ(rows[1].status, MessageStatus::kDead);
  EXPECT_EQ(rows[1].last_error, "not attempted");
  EXPECT_EQ(rows[2].status, MessageStatus::kDelivered);
  EXPECT_EQ(rows[2].message.attempt, 2) << "failed once, with the sink";
}

TEST_F(EngineTest, ASinkThatThrowsAnythingWhileItOpensIsDown) {
  struct Odd final : Sink {
    std::string_view name() const noexcept override { return "odd"; }
    Status Open(Deadline) override {
      if (++opened <= 2) throw 42;
      return Status::Ok();
    }
    void Publish(std::span<const Message>, std::span<Status> results, Deadline) override {
      for (Status& result : results) result = Status::Ok();
    }
    std::atomic<int> opened{0};
  };
  Put(1);
  const auto engine = Start(std::make_shared<Odd>());
  ASSERT_OK(engine->Drain(Deadline::After(kPatience)));
  ASSERT_OK(engine->Stop());
  EXPECT_GE(recorder_->pauses, 1);
  EXPECT_EQ(store_.Rows()[0].message.attempt, 1);
}

// Its first Open hangs until it is let go, whatever its deadline.
struct SlowToOpen final : Sink {
  std::string_view name() const noexcept override { return "slow"; }
  SinkTraits traits() const noexcept override { return {.batch_max = 1, .concurrency = 4}; }
  Status Open(Deadline) override {
    if (opened++ == 0) let_go.wait();
    ++returned;
    return Status::Ok();
  }
  void Publish(std::span<const Message> batch, std::span<Status> results, Deadline) override {
    published += static_cast<int>(batch.size());
    for (Status& result : results) result = Status::Ok();
  }
  std::latch let_go{1};
  std::atomic<int> opened{0};
  std::atomic<int> returned{0};
  std::atomic<int> published{0};
};

TEST_F(EngineTest, AnOpenThatHangsCostsNoMessageAnAttempt) {
  Put(20);
  options_.dispatch_timeout = milliseconds(300);
  const auto sink = std::make_shared<SlowToOpen>();
  const auto engine = Start(sink);
  // Those that wait for their turn, and the one in the Open, which is given up.
  EXPECT_TRUE(Eventually([&] { return engine->Stats().released >= 20; }));
  EXPECT_GE(recorder_->pauses, 1);
  EXPECT_EQ(engine->Stats().retried, 0U);
  EXPECT_EQ(sink->opened, 1) << "nobody else opens it meanwhile";
  for (const auto& row : store_.Rows()) EXPECT_LE(row.message.attempt, 1);
  sink->let_go.count_down();
  ASSERT_OK(engine->Drain(Deadline::After(kPatience)));
  ASSERT_OK(engine->Stop());
  EXPECT_EQ(sink->published, 20) << "once each, also those in hand when the Open was given up";
  EXPECT_EQ(recorder_->dead, 0);
  for (const auto& row : store_.Rows()) EXPECT_EQ(row.message.attempt, 1);
}

TEST_F(EngineTest, NobodyCallsTheSinkBeforeAnOpeningHasEnded) {
  Put(1);
  options_.dispatch_timeout = milliseconds(200);
  const auto sink = std::make_shared<SlowToOpen>();
  const SinkOpening opening(sink, Deadline::After(milliseconds(0)));
  EXPECT_EQ(opening.Await().disposition(), Disposition::kSinkDown);
  const auto engine = *Engine::Start(
      options_, "t", store_.OpenRelay({.table = "t", .relay_id = "r"}), sink, recorder_, opening);
  EXPECT_TRUE(Eventually([&] { return engine->Stats().released >= 1; }));
  EXPECT_EQ(sink->opened, 1);
  sink->let_go.count_down();
  ASSERT_OK(engine->Drain(Deadline::After(kPatience)));
  ASSERT_OK(engine->Stop());
  EXPECT_EQ(sink->published, 1);
  EXPECT_EQ(store_.Rows()[0].message.attempt, 1);
}

TEST_F(EngineTest, AFailedOpenIsToldWithItsHintAndItsWaitIsKept) {
  struct Listener final : Recorder {
    void OnPublished(const Message&, const Status& result, Duration) override {
      const std::lock_guard lock(mutex);
      told = result;
    }
    std::mutex mutex;
    Status told;
  };
  struct Closed final : Sink {
    std::string_view name() const noexcept override { return "closed"; }
    Status Open(Deadline) override {
      ++opened;
      return Status::Permanent(Code::kPermission, "no entry")
          .WithHint("ask the doorman")
          .WithNative("403")
          .WithRetryAfter(std::chrono::hours(1));
    }
    void Publish(std::span<const Message>, std::span<Status>, Deadline) override {}
    std::atomic<int> opened{0};
  };
  const auto listener = std::make_shared<Listener>();
  recorder_ = listener;
  Put(1);
  const auto sink = std::make_shared<Closed>();
  const auto engine = Start(sink);
  EXPECT_TRUE(Eventually([&] { return engine->Stats().released == 1; }));
  ASSERT_OK(engine->Stop());
  EXPECT_EQ(sink->opened, 1) << "an hour is not over";
  EXPECT_EQ(listener->told.hint(), "ask the doorman");
  EXPECT_EQ(listener->told.native(), "403");
  EXPECT_EQ(listener->told.retry_after(), std::chrono::hours(1));
  EXPECT_EQ(listener->told.disposition(), Disposition::kSinkDown);
}

TEST_F(EngineTest, AHandlerMayAskItsRelayToStop) {
  Put(1);
  options_.shutdown_timeout = kPatience;
  std::promise<Engine*> promise;
  const auto started = promise.get_future().share();
  std::promise<std::pair<Status, Status>> answers;
  const auto engine = Start(MakeCallbackSink([&](const Message&, Deadline) {
    Engine* const own = started.get();
    Status drained = own->Drain(Deadline::After(kPatience));
    answers.set_value({own->Stop(), std::move(drained)});
    return Status::Ok();
  }));
  promise.set_value(engine.get());
  const auto [stopped, drained] = answers.get_future().get();
  EXPECT_THAT(stopped, HasCode(Code::kCancelled));
  EXPECT_THAT(drained, HasCode(Code::kCancelled));
  ASSERT_OK(engine->Stop());
  EXPECT_EQ(engine->Stats().delivered, 1U);
  EXPECT_EQ(Count(MessageStatus::kDelivered), 1U);
}

TEST_F(EngineTest, AnObserverMayAskItsRelayToStop) {
  struct Stopper final : Recorder {
    void OnSettled(std::string_view, const SettleCounts&, Duration) override { Stop(); }
    void OnClaimed(std::string_view, std::size_t, Duration) override { Stop(); }
    void OnStateChanged(std::string_view, RelayState state, std::string_view) override {
      if (state == RelayState::kStopped) Stop();
    }
    void Stop() {
      if (started.get()->Stop().code() == Code::kCancelled) ++cancelled;
    }
    std::promise<Engine*> promise;
    std::shared_future<Engine*> started = promise.get_future().share();
    std::atomic<int> cancelled{0};
  };
  const auto stopper = std::make_shared<Stopper>();
  recorder_ = stopper;
  Put(1);
  const auto engine =
      Start(MakeCallbackSink([](const Message&, Deadline) { return Status::Ok(); }));
  stopper->promise.set_value(engine.get());
  EXPECT_TRUE(Eventually([&] { return engine->Stats().state == RelayState::kDraining; }));
  ASSERT_OK(engine->Stop());
  EXPECT_GE(stopper->cancelled, 2);
}

TEST_F(EngineTest, ADrainWhoseTimeIsUpLeavesTheOthersWaiting) {
  Put(1);
  std::latch let_go(1);
  const auto engine = Start(MakeCallbackSink([&](const Message&, Deadline) {
    let_go.wait();
    return Status::Ok();
  }));
  auto patient =
      std::async(std::launch::async, [&] { return engine->Drain(Deadline::After(kPatience)); });
  EXPECT_THAT(engine->Drain(Deadline::After(milliseconds(20))), HasCode(Code::kDeadline));
  let_go.count_down();
  EXPECT_OK(patient.get());
  EXPECT_OK(engine->Drain(Deadline::After(std::chrono::hours(24 * 999'999))));
  ASSERT_OK(engine->Stop());
}

TEST_F(EngineTest, StopUnderLoadReleasesWhatWaitsAndRepeatsNothing) {
  Put(2000);
  std::mutex mutex;
  std::multiset<std::int64_t> seen;
  const auto sink = MakeCallbackSink([&](const Message& message, Deadline) {
    const std::lock_guard lock(mutex);
    seen.insert(message.seq);
    return Status::Ok();
  });
  for (int i = 0; i < 10; ++i) {
    const auto engine = Start(sink);
    EXPECT_TRUE(Eventually([&] {
      const std::lock_guard lock(mutex);
      return seen.size() > static_cast<std::size_t>(i) * 50;
    }));
    ASSERT_OK(engine->Stop());
    EXPECT_EQ(Count(MessageStatus::kProcessing), 0U);
  }
  const auto engine = Start(sink);
  ASSERT_OK(engine->Drain(Deadline::After(kPatience)));
  ASSERT_OK(engine->Stop());
  EXPECT_EQ(seen.size(), 2000U);
  EXPECT_EQ(std::set<std::int64_t>(seen.begin(), seen.end()).size(), 2000U);
}

TEST_F(EngineTest, LostSettleAnswersAndFailedCallsAreRetried) {
  Put(500);
  options_.batch_size = 50;
  std::atomic<int> calls{0};
  store_.FailNext(MemoryStore::Call::kNext, Status::Retry(Code::kUnavailable, "gone"));
  store_.FailNext(MemoryStore::Call::kSettle, Status::Retry(Code::kUnavailable, "gone"));
  const auto engine = Start(MakeCallbackSink([&](const Message&, Deadline) {
    ++calls;
    return Status::Ok();
  }));
  ASSERT_OK(engine->Drain(Deadline::After(kPatience)));
  ASSERT_OK(engine->Stop());
  EXPECT_EQ(calls, 500);
  EXPECT_EQ(Count(MessageStatus::kDelivered), 500U);
}

TEST_F(EngineTest, OneLeaderAtATimeAndHandOverWhenItStops) {
  options_.single_active = true;
  std::atomic<int> active{0};
  std::atomic<bool> overlap{false};
  std::atomic<int> first_calls{0};
  std::atomic<int> second_calls{0};
  const auto handler = [&](std::atomic<int>& calls) {
    return MakeCallbackSink(
        [&](const Message&, Deadline) {
          if (active.fetch_add(1) > 0) overlap = true;
          ++calls;
          active.fetch_sub(1);
          return Status::Ok();
        },
        1);
  };
  const auto first = Start(handler(first_calls), "first");
  EXPECT_TRUE(Eventually([&] { return first->Stats().leading; }));
  const auto second = Start(handler(second_calls), "second");
  Put(100);
  EXPECT_TRUE(Eventually([&] { return first_calls == 100; }));
  EXPECT_TRUE(Eventually([&] { return second->Stats().state == RelayState::kStandby; }));
  EXPECT_EQ(second_calls, 0);
  ASSERT_OK(first->Stop());
  Put(100);
  EXPECT_TRUE(Eventually([&] { return second_calls == 100; }));
  ASSERT_OK(second->Stop());
  EXPECT_FALSE(overlap);
}

TEST_F(EngineTest, ManyRelaysShareTheWorkWithoutSharingAMessage) {
  Put(4000);
  std::mutex mutex;
  std::multiset<std::int64_t> seen;
  std::vector<std::shared_ptr<Engine>> engines;
  for (int i = 0; i < 4; ++i) {
    engines.push_back(Start(MakeCallbackSink([&](const Message& message, Deadline) {
                              const std::lock_guard lock(mutex);
                              seen.insert(message.seq);
                              return Status::Ok();
                            }),
                            "r" + std::to_string(i)));
  }
  EXPECT_TRUE(Eventually([&] { return Count(MessageStatus::kDelivered) == 4000; }));
  for (const auto& engine : engines) ASSERT_OK(engine->Stop());
  EXPECT_EQ(seen.size(), 4000U);
  EXPECT_EQ(recorder_->lost, 0);
}

}  // namespace
}  // namespace outbox::relay
