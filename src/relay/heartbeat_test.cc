#include "relay/heartbeat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "store/memory/memory_control.h"
#include "tests/support/matchers.h"
#include "tests/support/wait.h"

namespace outbox::relay {
namespace {

using ::outbox::testing::WaitFor;
using std::chrono::milliseconds;

constexpr const char* kBeaten = "public.orders_outbox";

Deadline InTime() { return Deadline::After(std::chrono::seconds(30)); }

class FakeRelay final : public Relay {
 public:
  Status Stop() override { return Status::Ok(); }
  Status Drain(Deadline) override { return Status::Ok(); }
  void Wake() override {}
  void Pause() override { paused = true, ++turns; }
  void Resume() override {
    paused = false, ++turns;
    const std::lock_guard lock(mutex);
    pause_reason.clear();
  }
  // As if its sink had answered that it wants no more.
  void PauseItself(const std::string& why) {
    const std::lock_guard lock(mutex);
    paused = true;
    pause_reason = why;
  }
  RelayStats Stats() const override {
    const std::lock_guard lock(mutex);
    return {.state = paused ? RelayState::kPaused : RelayState::kRunning,
            .leading = true,
            .delivered = 7,
            .retried = 2,
            .dead = 1,
            .in_flight = 3,
            .pause_reason = pause_reason};
  }
  std::atomic<bool> paused{false};
  std::atomic<int> turns{0};
  mutable std::mutex mutex;
  std::string pause_reason;  // guarded by mutex
};

class Notices final : public RelayObserver {
 public:
  void OnNotice(std::string_view, std::string_view text) override {
    const std::lock_guard lock(mutex_);
    texts_.emplace_back(text);
  }
  std::vector<std::string> texts() const {
    const std::lock_guard lock(mutex_);
    return texts_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> texts_;
};

// Asks another store, slowly: Beat returns what it read only when the gate is open.
class SlowControl final : public store::ControlStore {
 public:
  explicit SlowControl(std::unique_ptr<store::ControlStore> inner) : inner_(std::move(inner)) {}

  Result<std::vector<store::RelayPause>> Beat(const store::ProcessInfo& process,
                                              std::span<const store::RelayBeat> relays,
                                              milliseconds interval, Deadline deadline) override {
    auto pauses = inner_->Beat(process, relays, interval, deadline);
    std::unique_lock lock(mutex_);
    ++waiting_;
    wake_.notify_all();
    wake_.wait(lock, [&] { return open_; });
    return pauses;
  }
  Status Leave(const store::ProcessInfo& process, Deadline deadline) override {
    return inner_->Leave(process, deadline);
  }
  Result<std::vector<store::ListedRelay>> Relays(Deadline deadline) override {
    return inner_->Relays(deadline);
  }
  Result<std::vector<store::RelayPause>> Pauses(Deadline deadline) override {
    return inner_->Pauses(deadline);
  }
  Result<std::size_t> Pause(const store::RelayPause& pause, const store::Audit& audit,
                            Deadline deadline) override {
    return inner_->Pause(pause, audit, deadline);
  }
  Result<std::size_t> Resume(const std::string& table, const std::string& sink,
                             const store::Audit& audit, Deadline deadline) override {
    return inner_->Resume(table, sink, audit, deadline);
  }
  Result<store::AuditPage> ListAudit(const store::AuditFilter& filter, Deadline deadline) override {
    return inner_->ListAudit(filter, deadline);
  }

  void WaitForABeat() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return waiting_ > 0; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    wake_.notify_all();
  }

 private:
  const std::unique_ptr<store::ControlStore> inner_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool open_ = false;
  int waiting_ = 0;
};

class HeartbeatTest : public ::testing::Test {
 protected:
  HeartbeatTest()
      : control_([] {
          return std::chrono::time_point_cast<std::chrono::microseconds>(
              std::chrono::system_clock::now());
        }) {}

  std::unique_ptr<Heartbeat> Start(milliseconds interval = milliseconds(5)) {
    return Start(control_.Open(), interval);
  }
  std::unique_ptr<Heartbeat> Start(std::unique_ptr<store::ControlStore> store,
                                   milliseconds interval) {
    return Heartbeat::Start(std::move(store),
                            {.process = {.id = "me", .host = "here"}, .interval = interval},
                            {{.table = kBeaten, .sink = "rabbit", .relay = &rabbit_},
                             {.table = kBeaten,
                              .sink = "nats",
                              .single_active = true,
                              .paused = nats_.paused,
                              .relay = &nats_}},
                            notices_);
  }
  void Pause(const std::string& sink) {
    ASSERT_OK(operator_->Pause({.table = kBeaten, .sink = sink}, {.actor = "olga"}, InTime()));
  }
  void Resume(const std::string& sink) {
    ASSERT_OK(operator_->Resume(kBeaten, sink, {.actor = "olga"}, InTime()));
  }

  store::MemoryControl control_;
  std::unique_ptr<store::ControlStore> operator_ = control_.Open();
  FakeRelay rabbit_, nats_;
  std::shared_ptr<Notices> notices_ = std::make_shared<Notices>();
};

TEST_F(HeartbeatTest, TellsHowItsRelaysStandUntilItStops) {
  const auto heartbeat = Start();
  ASSERT_TRUE(WaitFor([&] { return control_.beats() >= 3; }));
  const auto listed = operator_->Relays(InTime());
  ASSERT_OK(listed);
  ASSERT_EQ(listed->size(), 2u);
  const store::RelayBeat& nats = (*listed)[0].relay;
  EXPECT_EQ(nats.sink, "nats");
  EXPECT_EQ(nats.state, "running");
  EXPECT_EQ(nats.leading, true);
  EXPECT_EQ(nats.delivered, 7u);
  EXPECT_EQ(nats.failed, 3u);
  EXPECT_EQ(nats.in_flight, 3u);
  EXPECT_EQ((*listed)[1].relay.leading, std::nullopt) << "not in single-active mode";
  heartbeat->Stop();
  EXPECT_TRUE(operator_->Relays(InTime())->empty());
  EXPECT_TRUE(notices_->texts().empty());
}

TEST_F(HeartbeatTest, PausesAndResumesWhatOthersSay) {
  const auto heartbeat = Start();
  Pause("nats");
  EXPECT_TRUE(WaitFor([&] { return nats_.paused.load(); }));
  EXPECT_FALSE(rabbit_.paused);
  Pause("");
  EXPECT_TRUE(WaitFor([&] { return rabbit_.paused.load(); }));
  Resume("");
  EXPECT_TRUE(WaitFor([&] { return !rabbit_.paused && !nats_.paused; }));
  const std::size_t beats = control_.beats();
  ASSERT_TRUE(WaitFor([&] { return control_.beats() >= beats + 3; }));
  EXPECT_EQ(rabbit_.turns, 2) << "told once each";
}

TEST_F(HeartbeatTest, OthersSeeATurnAtOnce) {
  const auto heartbeat = Start(control_.Open(), std::chrono::hours(1));
  ASSERT_TRUE(WaitFor([&] { return control_.beats() >= 1; }));
  Pause("");
  heartbeat->Turn(kBeaten, "", true);
  EXPECT_TRUE(WaitFor([&] {
    const auto listed = operator_->Relays(InTime());
    return listed.ok() && listed->size() == 2 && (*listed)[0].relay.state == "paused";
  }));
}

TEST_F(HeartbeatTest, ARelayThatStartedPausedIsResumedOnlyWhenItsPauseEnds) {
  Pause("nats");
  nats_.paused = true;
  const auto heartbeat = Start();
  ASSERT_TRUE(WaitFor([&] { return control_.beats() >= 3; }));
  EXPECT_EQ(nats_.turns, 0);
  Resume("nats");
  EXPECT_TRUE(WaitFor([&] { return !nats_.paused; }));
}

TEST_F(HeartbeatTest, ABeatThatReadBeforeATurnDoesNotUndoIt) {
  auto slow = std::make_unique<SlowControl>(control_.Open());
  SlowControl& gate = *slow;
  const auto heartbeat = Start(std::move(slow), std::chrono::hours(1));
  gate.WaitForABeat();  // it has read that nothing is paused
  Pause("");
  EXPECT_EQ(heartbeat->Turn(kBeaten, "", true), 2u);
  EXPECT_EQ(heartbeat->Turn(kBeaten, "redis", true), 0u);
  EXPECT_EQ(heartbeat->Turn("public.other", "", true), 0u);
  EXPECT_TRUE(rabbit_.paused && nats_.paused);
  gate.Open();
  // The stale answer is dropped, and the next is asked for at once.
  ASSERT_TRUE(WaitFor([&] { return control_.beats() >= 2; }));
  heartbeat->Stop();
  EXPECT_TRUE(rabbit_.paused && nats_.paused);
  EXPECT_EQ(rabbit_.turns, 1);
}

TEST_F(HeartbeatTest, SaysOnceThatItIsOffAndKeepsWhatItKnew) {
  Pause("nats");
  const auto heartbeat = Start();
  ASSERT_TRUE(WaitFor([&] { return nats_.paused.load(); }));
  control_.FailBeats(store::ControlTablesMissing());
  std::size_t beats = control_.beats();
  ASSERT_TRUE(WaitFor([&] { return control_.beats() >= beats + 4; }));
  Resume("");
  ASSERT_EQ(notices_->texts().size(), 1u);
  EXPECT_THAT(notices_->texts()[0], ::testing::AllOf(::testing::HasSubstr("heartbeats are off"),
                                                     ::testing::HasSubstr("migrate up")));
  EXPECT_TRUE(nats_.paused);
  control_.FailBeats(Status::Ok());
  EXPECT_TRUE(WaitFor([&] { return !nats_.paused; }));
  EXPECT_EQ(notices_->texts().size(), 2u);
}

TEST_F(HeartbeatTest, RecordsAPauseThatASinkWantedSoThatItLastsUntilItIsResumed) {
  const auto heartbeat = Start();
  rabbit_.PauseItself("hooks:443 answered 410");
  std::vector<store::RelayPause> pauses;
  ASSERT_TRUE(WaitFor([&] {
    pauses = *operator_->Pauses(InTime());
    return !pauses.empty();
  }));
  ASSERT_EQ(pauses.size(), 1u);
  EXPECT_EQ(pauses[0].table, kBeaten);
  EXPECT_EQ(pauses[0].sink, "rabbit");
  EXPECT_EQ(pauses[0].reason, "hooks:443 answered 410");
  EXPECT_EQ(pauses[0].by, "relay@here");
  const std::size_t beats = control_.beats();
  ASSERT_TRUE(WaitFor([&] { return control_.beats() >= beats + 3; }));
  EXPECT_TRUE(rabbit_.paused);
  EXPECT_FALSE(nats_.paused);
  const auto audit = operator_->ListAudit({}, InTime());
  ASSERT_OK(audit);
  ASSERT_EQ(audit->records.size(), 1u) << "recorded once";
  EXPECT_EQ(audit->records[0].action, "pause");
  Resume("rabbit");
  EXPECT_TRUE(WaitFor([&] { return !rabbit_.paused; }));
  const std::size_t then = control_.beats();
  ASSERT_TRUE(WaitFor([&] { return control_.beats() >= then + 3; }));
  EXPECT_FALSE(rabbit_.paused);
  EXPECT_TRUE(operator_->Pauses(InTime())->empty());
}

TEST_F(HeartbeatTest, APauseThatASinkWantedLastsWhileItCannotBeRecordedAndIsRecordedLater) {
  control_.FailPauses(store::ControlTablesMissing());
  const auto heartbeat = Start();
  rabbit_.PauseItself("gone");
  ASSERT_TRUE(WaitFor([&] { return !notices_->texts().empty(); }));
  EXPECT_THAT(notices_->texts()[0], ::testing::HasSubstr("not recorded yet"));
  const std::size_t beats = control_.beats();
  ASSERT_TRUE(WaitFor([&] { return control_.beats() >= beats + 3; }));
  EXPECT_TRUE(rabbit_.paused) << "the beats work, and know of no pause";
  EXPECT_EQ(notices_->texts().size(), 1u);
  control_.FailPauses(Status::Ok());
  EXPECT_TRUE(WaitFor([&] { return operator_->Pauses(InTime())->size() == 1; }));
}

TEST_F(HeartbeatTest, APauseThatIsNotRecordedYetCanBeResumedHere) {
  control_.FailPauses(Status::SinkDown("away"));
  const auto heartbeat = Start();
  rabbit_.PauseItself("gone");
  ASSERT_TRUE(WaitFor([&] { return !notices_->texts().empty(); }));
  EXPECT_EQ(heartbeat->Turn(kBeaten, "rabbit", false), 1u);
  EXPECT_FALSE(rabbit_.paused);
}

}  // namespace
}  // namespace outbox::relay
