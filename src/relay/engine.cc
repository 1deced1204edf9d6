#include "relay/engine.h"

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/detached_thread.h"
#include "base/failpoint.h"
#include "base/text.h"
#include "relay/error_text.h"

namespace outbox::relay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;

constexpr seconds kSinkCloseTimeout{5};
// Threads left behind in calls that never return. Beyond this the sink counts as down.
constexpr std::size_t kLeftBehindMax = 64;

// The shortest that a loaded server is given.
constexpr seconds kStoreTimeoutMin{2};

// A heartbeat that takes longer than a third of the lease has missed its purpose; but a transaction
// claim is lost with the heartbeat that is given up.
Deadline ExtendDeadline(const RelayOptions& options, const store::RelayStoreTraits& store) {
  if (!store.leases) return Deadline::After(kStoreTimeout);
  return Deadline::After(std::min<SteadyClock::duration>(kStoreTimeout, options.lease / 3));
}

// Of a call that heartbeats have to wait for.
Deadline BetweenHeartbeats(const RelayOptions& options) {
  return Deadline::After(
      std::clamp<SteadyClock::duration>(options.lease / 3, kStoreTimeoutMin, kStoreTimeout));
}

Deadline SettleDeadline(const RelayOptions& options, const store::RelayStoreTraits& store) {
  return store.leases ? BetweenHeartbeats(options) : Deadline::After(kStoreTimeout);
}

// In single-active mode the thread that claims also keeps the lead.
Deadline ClaimDeadline(const RelayOptions& options) {
  return options.single_active ? BetweenHeartbeats(options) : Deadline::After(kStoreTimeout);
}

// The engine whose thread this is, or that has just been called here.
thread_local const Engine* engine_here = nullptr;

class Here {
 public:
  explicit Here(const Engine* engine) : before_(std::exchange(engine_here, engine)) {}
  ~Here() { engine_here = before_; }
  Here(const Here&) = delete;
  Here& operator=(const Here&) = delete;

 private:
  const Engine* const before_;
};

Status WithHintAdded(const Status& error, std::string_view hint) {
  return Status(error).WithHint(error.hint().empty() ? std::string(hint)
                                                     : base::StrCat(error.hint(), "; ", hint));
}

void WaitUntil(std::condition_variable& wake, std::unique_lock<std::mutex>& lock, TimePoint until) {
  // Some standard libraries overflow on time_point::max().
  const TimePoint latest = SteadyClock::now() + std::chrono::hours(1);
  wake.wait_until(lock, std::min(until, latest));
}

}  // namespace

Engine::Engine(RelayOptions options, std::string table, std::unique_ptr<store::RelayStore> store,
               std::shared_ptr<Sink> sink, std::shared_ptr<RelayObserver> observer,
               SinkOpening opening)
    : options_(std::move(options)),
      table_(std::move(table)),
      store_(std::move(store)),
      sink_(std::move(sink)),
      observer_(observer != nullptr ? std::move(observer) : std::make_shared<RelayObserver>()),
      random_(base::RandomBits()),
      opening_(std::move(opening)),
      core_(options_, store_->traits(), sink_->traits(), random_) {}

Result<std::shared_ptr<Engine>> Engine::Start(RelayOptions options, std::string table,
                                              std::unique_ptr<store::RelayStore> store,
                                              std::shared_ptr<Sink> sink,
                                              std::shared_ptr<RelayObserver> observer,
                                              SinkOpening opening) {
  std::shared_ptr<Engine> engine(new Engine(std::move(options), std::move(table), std::move(store),
                                            std::move(sink), std::move(observer),
                                            std::move(opening)));
  if (engine->options_.start_paused) engine->core_.Pause(SteadyClock::now(), true);
  engine->WatchForWork();
  try {
    engine->StartThreads();
  } catch (const std::system_error& error) {
    (void)engine->Stop();
    return Status::Retry(Code::kUnavailable,
                         base::StrCat("can not start the relay's threads: ", error.what()))
        .WithHint(base::StrCat("it takes ", engine->sink_->traits().concurrency,
                               " for the sink, by its concurrency, and two more"));
  }
  return engine;
}

void Engine::StartThreads() {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < sink_->traits().concurrency; ++i) StartPublisher();
  settler_ = std::thread([engine = shared_from_this()] { engine->RunSettler(); });
  claimer_ = std::thread([engine = shared_from_this()] { engine->RunClaimer(); });
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

void Engine::Pause(bool paused) {
  const std::lock_guard lock(mutex_);
  core_.Pause(SteadyClock::now(), paused);
  claimer_wake_.notify_one();
  settler_wake_.notify_one();
}

// --- claimer ---

void Engine::RunClaimer() {
  const Here here(this);
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
  const auto lead = store_->TryLead(BetweenHeartbeats(options_));
  {
    const std::lock_guard lock(mutex_);
    core_.OnLead(SteadyClock::now(), lead);
    settler_wake_.notify_one();
  }
  if (!lead.ok()) observer_->OnStoreError(table_, "lead", lead.error(), {});
}

void Engine::Claim(const ClaimStep& step) {
  const TimePoint asked = SteadyClock::now();
  auto claim = store_->Next(step.request, ClaimDeadline(options_));
  const TimePoint now = SteadyClock::now();
  for (const store::RefusedRow& row : store_->TakeRefused()) {
    observer_->OnStoreError(table_, "claim", row.error, row.retry_in);
  }
  if (!claim.ok()) {
    Duration wait{};
    std::size_t limit = 0;
    std::size_t next_limit = 0;
    {
      const std::lock_guard lock(mutex_);
      limit = core_.claim_limit();
      wait = core_.OnClaimFailed(now, claim.error());
      next_limit = core_.claim_limit();
      settler_wake_.notify_one();
    }
    const bool too_large = next_limit < limit;
    observer_->OnStoreError(
        table_, "claim",
        too_large ? WithHintAdded(claim.error(),
                                  base::StrCat("a claim of ", limit,
                                               " messages was too slow, or they are too large; the "
                                               "next one asks for ",
                                               next_limit, ". Lower batch_size if it stays so"))
                  : claim.error(),
        wait);
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
  try {
    publisher.thread =
        std::thread([engine = shared_from_this(), &publisher] { engine->RunPublisher(publisher); });
  } catch (const std::system_error&) {
    publishers_.pop_back();
    throw;
  }
}

void Engine::LeaveBehind(const Slice& slice) {
  const auto found =
      std::find_if(publishers_.begin(), publishers_.end(),
                   [&](const Publisher& publisher) { return publisher.slice == slice.number; });
  OUTBOX_CHECK(found != publishers_.end());
  found->thread.detach();
  base::DetachedThreads::Add();
  publishers_.erase(found);
  ++left_behind_;
  ReplacePublishers();
}

void Engine::ReplacePublishers() {
  try {
    while (publishers_.size() < sink_->traits().concurrency) StartPublisher();
  } catch (const std::system_error&) {
    // No thread to be had now. The settler asks again.
  }
}

void Engine::RunPublisher(Publisher& self) {
  const Here here(this);
  std::unique_lock lock(mutex_);
  while (!publishers_stop_) {
    const auto slice = core_.NextSlice(SteadyClock::now());
    if (!slice) {
      settler_wake_.notify_one();  // messages whose lease ran out may have been given back
      publisher_wake_.wait(lock);
      continue;
    }
    self.slice = slice->number;
    // The settler watches the earliest deadline, and later slices have later ones.
    if (core_.publishing() == 1) settler_wake_.notify_one();
    lock.unlock();
    const auto [results, reached] = Publish(*slice);
    base::Failpoint("after_publish");
    lock.lock();
    const TimePoint now = SteadyClock::now();
    if (!core_.OnPublished(now, *slice, results, reached)) {
      // Left behind meanwhile: a replacement runs in our place, and `self` is gone.
      --left_behind_;
      lock.unlock();
      base::DetachedThreads::Remove();
      return;
    }
    settler_wake_.notify_one();
    // Settling makes room for more claims, and its thread says so. Only a pause begins or ends
    // here.
    if (core_.state() != told_state_) claimer_wake_.notify_one();
    lock.unlock();
    const auto messages = slice->messages();
    for (std::size_t i = 0; i < results.size(); ++i) {
      observer_->OnPublished(messages[i], results[i], now - slice->started);
    }
    lock.lock();
  }
}

Engine::Published Engine::Publish(const Slice& slice) {
  const auto not_reached = [&](const Status& why) {
    return Published{std::vector<Status>(slice.count, why), false};
  };
  const Deadline deadline(slice.deadline);
  std::size_t left_behind = 0;
  {
    const std::lock_guard lock(mutex_);
    left_behind = left_behind_;
  }
  if (left_behind >= kLeftBehindMax) {
    return not_reached(Status::SinkDown(base::StrCat(left_behind, " calls of the sink hang")));
  }
  if (const Status opened = OpenSink(deadline); !opened.ok()) return not_reached(opened);
  {
    const std::lock_guard lock(mutex_);
    if (!core_.OnReached(slice)) return not_reached(Status::SinkDown("opened too late"));
  }

  std::vector<Status> results(slice.count, Status::NotAttempted());
  const auto fail_rest = [&](const std::string& what) {
    for (Status& result : results) {
      if (result.code() == Code::kNotAttempted) result = Status::Retry(Code::kInternal, what);
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
  CleanFailures(slice.messages(), results, options_.last_error_bytes_max);
  return {std::move(results)};
}

Status Engine::OpenSink(Deadline deadline) {
  if (sink_open_) return Status::Ok();
  const std::unique_lock turn(opening_turn_, deadline.at());
  if (!turn || !opening_.EndsBy(deadline)) return Status::SinkDown(std::string(kOpensStill));
  if (sink_open_) return Status::Ok();
  const Status status = OpenNow(*sink_, deadline);
  if (status.ok()) {
    sink_open_ = true;
    return status;
  }
  // However it fails, it is not the messages' fault.
  Status down = Status(status.code(), Disposition::kSinkDown, status.message())
                    .WithNative(status.native())
                    .WithHint(status.hint());
  if (status.wants_pause()) (void)std::move(down).WithPause();
  if (!status.retry_after()) return down;
  return std::move(down).WithRetryAfter(*status.retry_after());
}

// --- settler ---

void Engine::RunSettler() {
  const Here here(this);
  std::unique_lock lock(mutex_);
  for (;;) {
    const TimePoint now = SteadyClock::now();
    if (const std::vector<Slice> overdue = core_.GiveUpOverdue(now); !overdue.empty()) {
      // All of them before anybody is told: their calls may come back meanwhile, and count down.
      for (const Slice& slice : overdue) LeaveBehind(slice);
      lock.unlock();
      for (const Slice& slice : overdue) TellOverdue(slice, now);
      lock.lock();
    }
    ReplacePublishers();
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

void Engine::TellOverdue(const Slice& slice, TimePoint now) {
  const Status result = slice.reached ? Status::Retry(Code::kDeadline, "no answer in time")
                                      : Status::SinkDown(std::string(kOpensStill));
  for (const Message& message : slice.messages()) {
    observer_->OnPublished(message, result, now - slice.started);
  }
}

void Engine::Settle(const SettleStep& step) {
  const TimePoint asked = SteadyClock::now();
  const auto report =
      step.held->claim->Settle(step.outcomes, SettleDeadline(options_, store_->traits()));
  const TimePoint now = SteadyClock::now();
  if (!report.ok()) {
    SettleFailure failure;
    {
      const std::lock_guard lock(mutex_);
      failure = core_.OnSettleFailed(now, step, report.error());
      stats_.lost += failure.forgotten.size();
    }
    TellSettleFailed(step, report.error(), failure);
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

void Engine::TellSettleFailed(const SettleStep& step, const Status& error,
                              const SettleFailure& failure) {
  if (failure.forgotten.empty()) {
    observer_->OnStoreError(table_, "settle", error, failure.retry_in);
    return;
  }
  const auto messages = step.held->claim->messages();
  std::string which =
      base::StrCat("the outcome of message ", messages[failure.forgotten[0]].id.ToString());
  if (failure.forgotten.size() > 1) {
    which = base::StrCat("the outcomes of ", failure.forgotten.size(), " messages, ",
                         messages[failure.forgotten[0]].id.ToString(), " among them,");
  }
  const Status told = Status(error.code(), error.disposition(),
                             base::StrCat(which, " could not be recorded: ", error.message()))
                          .WithNative(error.native())
                          .WithHint(error.hint());
  const std::string_view what =
      store_->traits().leases
          ? "delivered again when the lease ends"
          : "a transaction claim is recorded whole or not at all; delivered again";
  observer_->OnStoreError(table_, "settle", WithHintAdded(told, what), failure.retry_in);
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
  const auto lost =
      step.held->claim->Extend(options_.lease, ExtendDeadline(options_, store_->traits()));
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

bool Engine::IsOwnThread() const noexcept { return engine_here == this; }

void Engine::RequestStop() {
  const std::lock_guard lock(mutex_);
  core_.RequestStop(SteadyClock::now() + options_.shutdown_timeout);
  claimer_wake_.notify_all();
  settler_wake_.notify_all();
  drained_wake_.notify_all();
}

Status Engine::Stop() {
  RequestStop();
  if (IsOwnThread()) {
    return Status::Retry(Code::kCancelled, base::StrCat("the relay of ", table_, " is stopping"))
        .WithHint("a sink or an observer can not wait for its own relay; call Stop outside too");
  }
  const std::lock_guard stop_lock(stop_mutex_);
  const Here here(this);  // the last observer call comes from here
  if (stopped_) return stop_result_;
  stopped_ = true;
  // Not joinable: the threads could not all be started.
  if (claimer_.joinable()) claimer_.join();
  if (settler_.joinable()) settler_.join();
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
  if (left_behind == 0 && opening_.EndsBy(Deadline::After(milliseconds(0))))
    sink_->Close(Deadline::After(kSinkCloseTimeout));
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
  if (IsOwnThread()) {
    return Status::Permanent(Code::kCancelled, "a sink or an observer can not wait for its relay");
  }
  std::unique_lock lock(mutex_);
  const std::uint64_t number = core_.WantDrained();
  core_.OnWork(SteadyClock::now());
  claimer_wake_.notify_one();
  const auto ended = [&] {
    return core_.drained(number) || core_.state() == RelayState::kDraining;
  };
  while (!ended() && !deadline.passed()) WaitUntil(drained_wake_, lock, deadline.at());
  core_.WantDrainedNoMore();
  if (core_.drained(number)) return Status::Ok();
  if (ended()) {
    return Status::Retry(Code::kCancelled, "the relay was stopped before it had drained");
  }
  return Status::Retry(Code::kDeadline, base::StrCat("messages are left in ", table_));
}

RelayStats Engine::Stats() const {
  const std::lock_guard lock(mutex_);
  RelayStats stats = stats_;
  if (stats.state != RelayState::kStopped) stats.state = core_.state();
  stats.leading = core_.leading();
  stats.pause_reason = core_.pause_reason();
  stats.in_flight = core_.held_messages();
  return stats;
}

void Engine::TellState(std::unique_lock<std::mutex>& lock) {
  const RelayState state = core_.state();
  const bool leading = core_.leading();
  if (state == told_state_ && leading == told_leading_) return;
  const bool leading_changed = std::exchange(told_leading_, leading) != leading;
  const bool state_changed = std::exchange(told_state_, state) != state;
  const std::string why(core_.why());
  lock.unlock();
  if (leading_changed) observer_->OnLeaderChanged(table_, leading);
  if (state_changed) observer_->OnStateChanged(table_, state, why);
  lock.lock();
}

}  // namespace outbox::relay
