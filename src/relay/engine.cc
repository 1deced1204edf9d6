#include "relay/engine.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"
#include "base/text.h"

namespace outbox::relay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;

constexpr seconds kStoreTimeout{10};
constexpr seconds kSinkCloseTimeout{5};
// Threads left behind in calls that never return. Beyond this the sink counts as down.
constexpr std::size_t kLeftBehindMax = 64;

// A heartbeat that takes longer than a third of the lease has missed its purpose.
Deadline ExtendDeadline(const RelayOptions& options) {
  return Deadline::After(std::min<SteadyClock::duration>(kStoreTimeout, options.lease / 3));
}

void WaitUntil(std::condition_variable& wake, std::unique_lock<std::mutex>& lock, TimePoint until) {
  // Some standard libraries overflow on time_point::max().
  const TimePoint latest = SteadyClock::now() + std::chrono::hours(1);
  wake.wait_until(lock, std::min(until, latest));
}

}  // namespace

Engine::Engine(RelayOptions options, std::string table, std::unique_ptr<store::RelayStore> store,
               std::shared_ptr<Sink> sink, std::shared_ptr<RelayObserver> observer)
    : options_(std::move(options)),
      table_(std::move(table)),
      store_(std::move(store)),
      sink_(std::move(sink)),
      observer_(observer != nullptr ? std::move(observer) : std::make_shared<RelayObserver>()),
      random_(base::RandomBits()),
      core_(options_, store_->traits(), sink_->traits(), random_) {}

std::shared_ptr<Engine> Engine::Start(RelayOptions options, std::string table,
                                      std::unique_ptr<store::RelayStore> store,
                                      std::shared_ptr<Sink> sink,
                                      std::shared_ptr<RelayObserver> observer) {
  std::shared_ptr<Engine> engine(new Engine(std::move(options), std::move(table), std::move(store),
                                            std::move(sink), std::move(observer)));
  if (engine->options_.start_held) engine->core_.Hold(SteadyClock::now(), true);
  engine->WatchForWork();
  const std::lock_guard lock(engine->mutex_);
  for (std::size_t i = 0; i < engine->sink_->traits().concurrency; ++i) engine->StartPublisher();
  engine->settler_ = std::thread([engine] { engine->RunSettler(); });
  engine->claimer_ = std::thread([engine] { engine->RunClaimer(); });
  return engine;
}

void Engine::WatchForWork() {
  if (!options_.listen && !store_->traits().watch_is_free) return;
  auto watch = store_->WatchForWork(
      [weak = weak_from_this()] {
        if (const auto engine = weak.lock()) engine->Wake();
      },
      Deadline::After(kStoreTimeout));
  if (watch.ok()) {
    watch_ = std::move(*watch);
  } else {
    observer_->OnNotice(table_, watch.error().message());
  }
}

void Engine::Wake() {
  const std::lock_guard lock(mutex_);
  core_.OnWork(SteadyClock::now());
  claimer_wake_.notify_one();
}

void Engine::Hold(bool held) {
  const std::lock_guard lock(mutex_);
  core_.Hold(SteadyClock::now(), held);
  claimer_wake_.notify_one();
  settler_wake_.notify_one();
}

// --- claimer ---

void Engine::RunClaimer() {
  std::unique_lock lock(mutex_);
  for (;;) {
    TellState(lock);
    const ClaimerStep step = core_.NextClaimerStep(SteadyClock::now());
    if (const auto* wait = std::get_if<WaitStep>(&step)) {
      WaitUntil(claimer_wake_, lock, wait->until);
      continue;
    }
    if (std::holds_alternative<StopStep>(step)) break;
    lock.unlock();
    if (std::holds_alternative<LeadStep>(step)) Lead();
    if (const auto* claim = std::get_if<ClaimStep>(&step)) Claim(*claim);
    if (std::holds_alternative<CheckDrainedStep>(step)) CheckDrained();
    if (std::holds_alternative<ResignStep>(step)) store_->StopLeading();
    lock.lock();
    if (std::holds_alternative<ResignStep>(step)) core_.OnResigned();
  }
  lock.unlock();
  if (options_.single_active) store_->StopLeading();
}

void Engine::Lead() {
  const Result<bool> leading = store_->TryLead(Deadline::After(kStoreTimeout));
  bool failed = !leading.ok();
  {
    const std::lock_guard lock(mutex_);
    core_.OnLead(SteadyClock::now(), leading);
    settler_wake_.notify_one();
  }
  if (failed) observer_->OnStoreError(table_, "lead", leading.error(), {});
}

void Engine::Claim(const ClaimStep& step) {
  const TimePoint asked = SteadyClock::now();
  auto claim = store_->Next(step.request, Deadline::After(kStoreTimeout));
  const TimePoint now = SteadyClock::now();
  if (!claim.ok()) {
    Duration wait{};
    {
      const std::lock_guard lock(mutex_);
      wait = core_.OnClaimFailed(now);
      settler_wake_.notify_one();
    }
    observer_->OnStoreError(table_, "claim", claim.error(), wait);
    return;
  }
  const std::size_t count = (*claim)->size();
  if (count > 0) base::Failpoint("after_claim");
  observer_->OnClaimed(table_, count, now - asked);
  for (const Message& message : (*claim)->exhausted()) {
    observer_->OnDead(message, Status::Permanent(Code::kInternal, "attempts used up in crashes"));
  }
  const std::lock_guard lock(mutex_);
  stats_.claimed += count;
  stats_.dead += (*claim)->exhausted().size();
  core_.OnClaimed(asked, now, std::move(*claim));
  if (count > 0) publisher_wake_.notify_all();
  settler_wake_.notify_one();
}

void Engine::CheckDrained() {
  const Result<bool> drained = store_->Drained(Deadline::After(kStoreTimeout));
  {
    const std::lock_guard lock(mutex_);
    core_.OnDrainedChecked(SteadyClock::now(), drained.ok() && *drained);
    drained_wake_.notify_all();
  }
  if (!drained.ok()) observer_->OnStoreError(table_, "drained", drained.error(), {});
}

// --- publishers ---

void Engine::StartPublisher() {
  Publisher& publisher = publishers_.emplace_back();
  publisher.thread =
      std::thread([engine = shared_from_this(), &publisher] { engine->RunPublisher(publisher); });
}

void Engine::LeaveBehind(const Slice& slice) {
  const auto found =
      std::find_if(publishers_.begin(), publishers_.end(),
                   [&](const Publisher& publisher) { return publisher.slice == slice.number; });
  OUTBOX_CHECK(found != publishers_.end());
  found->thread.detach();
  publishers_.erase(found);
  ++left_behind_;
  StartPublisher();
}

void Engine::RunPublisher(Publisher& self) {
  std::unique_lock lock(mutex_);
  while (!publishers_stop_) {
    const auto slice = core_.NextSlice(SteadyClock::now());
    if (!slice) {
      settler_wake_.notify_one();  // messages whose lease ran out may have been given back
      publisher_wake_.wait(lock);
      continue;
    }
    self.slice = slice->number;
    settler_wake_.notify_one();  // a new deadline to watch
    lock.unlock();
    const std::vector<Status> results = Publish(*slice);
    base::Failpoint("after_publish");
    lock.lock();
    const TimePoint now = SteadyClock::now();
    if (!core_.OnPublished(now, *slice, results)) {
      // Left behind meanwhile: a replacement runs in our place, and `self` is gone.
      --left_behind_;
      return;
    }
    settler_wake_.notify_one();
    claimer_wake_.notify_one();
    lock.unlock();
    const auto messages = slice->messages();
    for (std::size_t i = 0; i < results.size(); ++i) {
      observer_->OnPublished(messages[i], results[i], now - slice->started);
    }
    lock.lock();
  }
}

std::vector<Status> Engine::Publish(const Slice& slice) {
  const Deadline deadline(slice.deadline);
  std::size_t left_behind = 0;
  {
    const std::lock_guard lock(mutex_);
    left_behind = left_behind_;
  }
  if (left_behind >= kLeftBehindMax) {
    return {slice.count, Status::SinkDown(base::StrCat(left_behind, " calls of the sink hang"))};
  }
  if (const Status opened = OpenSink(deadline); !opened.ok()) return {slice.count, opened};

  std::vector<Status> results(slice.count, Status::Retry(Code::kInternal, "not attempted"));
  const auto fail_rest = [&](const std::string& what) {
    for (Status& result : results) {
      if (result.message() == "not attempted") result = Status::Retry(Code::kInternal, what);
    }
  };
  try {
    sink_->Publish(slice.messages(), results, deadline);
  } catch (const std::exception& exception) {
    fail_rest(base::StrCat("the sink threw: ", exception.what()));
  } catch (...) {
    fail_rest("the sink threw something that is not a std::exception");
  }
  if (std::any_of(results.begin(), results.end(), [](const Status& result) {
        return result.disposition() == Disposition::kSinkDown;
      })) {
    sink_open_ = false;
  }
  return results;
}

Status Engine::OpenSink(Deadline deadline) {
  if (sink_open_) return Status::Ok();
  const std::lock_guard lock(sink_mutex_);
  if (sink_open_) return Status::Ok();
  Status status;
  try {
    status = sink_->Open(deadline);
  } catch (const std::exception& exception) {
    status = Status::SinkDown(base::StrCat("the sink threw: ", exception.what()));
  }
  if (status.ok()) {
    sink_open_ = true;
    return status;
  }
  // However it fails, it is not the messages' fault.
  return Status(status.code(), Disposition::kSinkDown, status.message())
      .WithNative(status.native());
}

// --- settler ---

void Engine::RunSettler() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const TimePoint now = SteadyClock::now();
    for (const Slice& slice : core_.GiveUpOverdue(now)) {
      LeaveBehind(slice);
      lock.unlock();
      for (const Message& message : slice.messages()) {
        observer_->OnPublished(message, Status::Retry(Code::kDeadline, "no answer in time"),
                               now - slice.started);
      }
      lock.lock();
    }
    const SettlerStep step = core_.NextSettlerStep(SteadyClock::now());
    if (const auto* wait = std::get_if<WaitStep>(&step)) {
      WaitUntil(settler_wake_, lock, wait->until);
      continue;
    }
    if (std::holds_alternative<StopStep>(step)) break;
    lock.unlock();
    if (const auto* settle = std::get_if<SettleStep>(&step)) Settle(*settle);
    if (const auto* extend = std::get_if<ExtendStep>(&step)) Extend(*extend);
    lock.lock();
    claimer_wake_.notify_one();
  }
}

void Engine::Settle(const SettleStep& step) {
  const TimePoint asked = SteadyClock::now();
  const auto report = step.held->claim->Settle(step.outcomes, Deadline::After(kStoreTimeout));
  const TimePoint now = SteadyClock::now();
  if (!report.ok()) {
    std::optional<Duration> wait;
    {
      const std::lock_guard lock(mutex_);
      wait = core_.OnSettleFailed(now, step, report.error());
      if (!wait) stats_.lost += step.outcomes.size();
    }
    observer_->OnStoreError(table_, "settle", report.error(), wait.value_or(Duration::zero()));
    return;
  }
  base::Failpoint("after_settle");
  Settled settled;
  {
    const std::lock_guard lock(mutex_);
    settled = core_.OnSettled(step, *report);
    CountSettled(settled);
  }
  observer_->OnSettled(table_, settled.counts, now - asked);
  const auto messages = step.held->claim->messages();
  for (const std::uint32_t index : settled.lost) observer_->OnLeaseLost(messages[index]);
  for (const store::Outcome& outcome : step.outcomes) {
    if (outcome.kind != store::Outcome::Kind::kDead) continue;
    if (std::find(settled.dead.begin(), settled.dead.end(), outcome.index) == settled.dead.end()) {
      continue;
    }
    observer_->OnDead(messages[outcome.index], Status::Permanent(Code::kRejected, outcome.error));
  }
}

void Engine::CountSettled(const Settled& settled) {
  stats_.delivered += settled.counts.delivered;
  stats_.retried += settled.counts.retried;
  stats_.dead += settled.counts.dead;
  stats_.released += settled.counts.released;
  stats_.lost += settled.counts.lost;
}

void Engine::Extend(const ExtendStep& step) {
  const TimePoint asked = SteadyClock::now();
  const auto lost = step.held->claim->Extend(options_.lease, ExtendDeadline(options_));
  if (!lost.ok()) {
    Duration wait{};
    {
      const std::lock_guard lock(mutex_);
      wait = core_.OnExtendFailed(SteadyClock::now(), step);
    }
    observer_->OnStoreError(table_, "extend", lost.error(), wait);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    core_.OnExtended(asked, step, *lost);
    stats_.lost += lost->size();
  }
  for (const std::uint32_t index : *lost) {
    observer_->OnLeaseLost(step.held->claim->messages()[index]);
  }
}

// --- control ---

Status Engine::Stop() {
  const std::lock_guard stop_lock(stop_mutex_);
  if (stopped_) return stop_result_;
  stopped_ = true;
  {
    const std::lock_guard lock(mutex_);
    core_.RequestStop(SteadyClock::now() + options_.shutdown_timeout);
    claimer_wake_.notify_all();
    settler_wake_.notify_all();
    drained_wake_.notify_all();
  }
  claimer_.join();
  settler_.join();
  watch_.reset();
  {
    const std::lock_guard lock(mutex_);
    publishers_stop_ = true;
    publisher_wake_.notify_all();
    for (const Slice& slice : core_.GiveUpOverdue(TimePoint::max())) LeaveBehind(slice);
  }
  for (Publisher& publisher : publishers_) publisher.thread.join();
  std::size_t left_behind = 0;
  std::size_t unsettled = 0;
  {
    const std::lock_guard lock(mutex_);
    left_behind = left_behind_;
    unsettled = core_.held_messages();
    told_state_ = stats_.state = RelayState::kStopped;
  }
  if (left_behind == 0) sink_->Close(Deadline::After(kSinkCloseTimeout));
  if (unsettled > 0) {
    stop_result_ = Status::Retry(Code::kDeadline, base::StrCat("stopped with ", unsettled,
                                                               " messages unsettled in ", table_))
                       .WithHint("their leases expire by themselves; they will be delivered again");
  } else if (left_behind > 0) {
    stop_result_ = Status::Retry(Code::kDeadline, base::StrCat("stopped while ", left_behind,
                                                               " calls of the sink still run"));
  }
  observer_->OnStateChanged(table_, RelayState::kStopped, stop_result_.message());
  return stop_result_;
}

Status Engine::Drain(Deadline deadline) {
  std::unique_lock lock(mutex_);
  core_.WantDrained(true);
  core_.OnWork(SteadyClock::now());
  claimer_wake_.notify_one();
  const bool ended = drained_wake_.wait_until(lock, deadline.at(), [&] {
    return core_.drained() || core_.state() == RelayState::kDraining;
  });
  const bool drained = core_.drained();
  core_.WantDrained(false);
  if (drained) return Status::Ok();
  if (ended) return Status::Retry(Code::kCancelled, "the relay was stopped before it had drained");
  return Status::Retry(Code::kDeadline, base::StrCat("messages are left in ", table_));
}

RelayStats Engine::Stats() const {
  const std::lock_guard lock(mutex_);
  RelayStats stats = stats_;
  if (stats.state != RelayState::kStopped) stats.state = core_.state();
  stats.leading = core_.leading();
  stats.in_flight = core_.held_messages();
  return stats;
}

void Engine::TellState(std::unique_lock<std::mutex>& lock) {
  const RelayState state = core_.state();
  const bool leading = core_.leading();
  if (state == told_state_ && leading == told_leading_) return;
  const bool leading_changed = std::exchange(told_leading_, leading) != leading;
  const bool state_changed = std::exchange(told_state_, state) != state;
  const std::string why(core_.pause_reason());
  lock.unlock();
  if (leading_changed) observer_->OnLeaderChanged(table_, leading);
  if (state_changed) observer_->OnStateChanged(table_, state, why);
  lock.lock();
}

}  // namespace outbox::relay
