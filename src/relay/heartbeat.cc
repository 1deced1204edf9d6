#include "relay/heartbeat.h"

#include <algorithm>
#include <utility>

#include "base/json_object.h"
#include "base/text.h"

namespace outbox::relay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLeaveTimeout{2};
constexpr std::size_t kReasonBytesMax = 500;

// Longer than an interval would make the next beat late; shorter than a second asks too much of a
// loaded server.
Deadline BeatDeadline(milliseconds interval) {
  return Deadline::After(std::clamp<milliseconds>(interval, seconds(1), seconds(5)));
}

// True when that changes something.
bool Turned(BeatingRelay& relay, bool pause) {
  if (std::exchange(relay.paused, pause) == pause) return false;
  pause ? relay.relay->Pause() : relay.relay->Resume();
  return true;
}

store::RelayBeat BeatOf(const BeatingRelay& relay) {
  const RelayStats stats = relay.relay->Stats();
  store::RelayBeat beat{.table = relay.table,
                        .sink = relay.sink,
                        .state = std::string(ToString(stats.state)),
                        .leading = {},
                        .in_flight = stats.in_flight,
                        .delivered = stats.delivered,
                        .failed = stats.retried + stats.dead};
  if (relay.single_active) beat.leading = stats.leading;
  return beat;
}

}  // namespace

Heartbeat::Heartbeat(std::unique_ptr<store::ControlStore> store, HeartbeatOptions options,
                     std::vector<BeatingRelay> relays, std::shared_ptr<RelayObserver> observer)
    : store_(std::move(store)),
      options_(std::move(options)),
      observer_(observer != nullptr ? std::move(observer) : std::make_shared<RelayObserver>()),
      relays_(std::move(relays)) {}

std::unique_ptr<Heartbeat> Heartbeat::Start(std::unique_ptr<store::ControlStore> store,
                                            HeartbeatOptions options,
                                            std::vector<BeatingRelay> relays,
                                            std::shared_ptr<RelayObserver> observer) {
  std::unique_ptr<Heartbeat> heartbeat(
      new Heartbeat(std::move(store), std::move(options), std::move(relays), std::move(observer)));
  heartbeat->thread_ = std::thread([self = heartbeat.get()] { self->Run(); });
  return heartbeat;
}

Heartbeat::~Heartbeat() { Stop(); }

void Heartbeat::Stop() {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::size_t Heartbeat::Turn(std::string_view table, std::string_view sink, bool pause) {
  const std::lock_guard lock(mutex_);
  ++turns_;
  std::size_t count = 0;
  for (BeatingRelay& relay : relays_) {
    if (relay.table != table || (!sink.empty() && relay.sink != sink)) continue;
    // One that its sink has paused may not be recorded yet.
    if (!Turned(relay, pause) && !pause && !relay.relay->Stats().pause_reason.empty()) {
      relay.relay->Resume();
    }
    ++count;
  }
  wake_.notify_all();
  return count;
}

void Heartbeat::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const std::uint64_t turns = turns_;
    lock.unlock();
    RecordPauses();
    const auto pauses = Beat();
    Tell(pauses.error());
    lock.lock();
    if (pauses.ok() && turns != turns_)
      continue;                                   // read before the turn: it may know nothing of it
    if (pauses.ok() && Apply(*pauses)) continue;  // others shall see it at once
    wake_.wait_for(lock, options_.interval, [&] { return stopping_ || turns != turns_; });
  }
  lock.unlock();
  // Where beats fail there is nothing to remove, or nobody to ask.
  if (works_) (void)store_->Leave(options_.process, Deadline::After(kLeaveTimeout));
}

Result<std::vector<store::RelayPause>> Heartbeat::Beat() {
  std::vector<store::RelayBeat> beats;
  for (const BeatingRelay& relay : relays_) beats.push_back(BeatOf(relay));
  return store_->Beat(options_.process, beats, options_.interval, BeatDeadline(options_.interval));
}

void Heartbeat::RecordPauses() {
  for (const BeatingRelay& relay : relays_) {
    {
      const std::lock_guard lock(mutex_);
      if (relay.paused) continue;
    }
    const std::string reason = relay.relay->Stats().pause_reason;
    if (reason.empty()) continue;
    const Status recorded = Record(relay, base::CleanError(reason, kReasonBytesMax));
    if (std::exchange(records_, recorded.ok()) == recorded.ok() || recorded.ok()) continue;
    observer_->OnNotice(relay.table,
                        base::StrCat("the pause that the sink wants is not recorded yet, and "
                                     "holds in this process only: ",
                                     recorded.message()));
  }
}

// That it is paused already is success. The beat that follows reads the pause like any other.
Status Heartbeat::Record(const BeatingRelay& relay, const std::string& reason) {
  const store::Audit audit{
      .actor = base::StrCat("relay@", options_.process.host),
      .request_id = {},
      .filter =
          base::JsonObject().AddUnlessEmpty("sink", relay.sink).Add("reason", reason).Finish()};
  return store_
      ->Pause({.table = relay.table,
               .sink = relay.sink,
               .since = {},
               .by = audit.actor,
               .reason = reason},
              audit, BeatDeadline(options_.interval))
      .error();
}

bool Heartbeat::Apply(const std::vector<store::RelayPause>& pauses) {
  bool changed = false;
  for (BeatingRelay& relay : relays_) {
    changed |= Turned(relay, store::FindPause(pauses, relay.table, relay.sink) != nullptr);
  }
  return changed;
}

void Heartbeat::Tell(const Status& beaten) {
  if (std::exchange(works_, beaten.ok()) == beaten.ok() || relays_.empty()) return;
  const std::string& table = relays_.front().table;
  if (beaten.ok()) {
    observer_->OnNotice(table, "heartbeats go on");
    return;
  }
  const std::string hint = beaten.hint().empty() ? "" : base::StrCat(" (", beaten.hint(), ")");
  observer_->OnNotice(table, base::StrCat("heartbeats are off, and pauses from elsewhere do not "
                                          "arrive: ",
                                          beaten.message(), hint));
}

}  // namespace outbox::relay
