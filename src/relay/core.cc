#include "relay/core.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "relay/error_text.h"

namespace outbox::relay {
namespace {

using MessageState = HeldClaim::MessageState;
using Kind = store::Outcome::Kind;
using std::chrono::milliseconds;

// For sinks that take messages one by one: how many calls' worth to hold per concurrent call. More
// would only keep messages from other relays.
constexpr std::size_t kCallsHeldPerSlot = 64;
// A crash uses up the only attempt of everything that is held, tried or not.
constexpr std::size_t kHeldWithOneAttempt = 64;
// A publisher gets this long past its deadline to come back by itself.
constexpr milliseconds kGrace{250};
// After the stop deadline, the last settles get this long.
constexpr milliseconds kLastSettles{3000};
// A message that was in hand at one crash was most likely a bystander.
constexpr int kCrashesForgiven = 1;
// A message is refused so often, each time after others got through, before it costs an attempt;
// and from then on so often again. One would do, were there no destinations that come and go.
constexpr int kOvertakenForgiven = 2;
constexpr int kOvertakenLater = 1;
constexpr std::size_t kRefusedMax = 256;
// So many times probe_min is the wait at most after a message that others have overtaken: those
// that come now shall not wait as if the sink were away.
constexpr int kSuspectWaits = 4;
constexpr std::size_t kProbeWidthMin = 8;
constexpr std::size_t kProbeWidthGrowth = 4;
// A claim that took no longer than this may be larger the next time.
constexpr Duration kClaimQuick = kStoreTimeout / 4;
// So many outcomes refused one after the other: it is not them.
constexpr std::size_t kRefusedInARowMax = 8;
constexpr std::string_view kOutcomeNotStored =
    "the database refused to record the outcome; the message may have been delivered";
constexpr std::string_view kErrorNotStored = "the error's text could not be stored";
constexpr milliseconds kStandbyPollMin{100};
constexpr milliseconds kStandbyPollMax{1000};
// A destination that asks for more is asked again after this long.
constexpr milliseconds kRetryAfterMax = std::chrono::hours(24);
// Longer than the longest wait between two probes.
constexpr milliseconds kRefusalKept = kRetryAfterMax + std::chrono::hours(1);
constexpr double kPollGrowth = 1.6;
constexpr TimePoint kNever = TimePoint::max();

// What the database did, unlike the failures of a connection.
bool WasRefused(Code code) {
  return code != Code::kUnavailable && code != Code::kDeadline && code != Code::kConflict;
}

milliseconds WaitAsked(const Status& result) {
  return std::min(result.retry_after().value_or(milliseconds(0)), kRetryAfterMax);
}

// Whether what `a` demands of the relay lasts at least as long as what `b` does.
bool Outlasts(const Status& a, const Status& b) {
  if (a.wants_pause() != b.wants_pause()) return a.wants_pause();
  return a.retry_after() >= b.retry_after();
}

// Of a message that is answered "sink down" while others get through.
Status ItsOwnFailure(const Status& refusal) {
  return Status(refusal.code(), Disposition::kRetry,
                base::StrCat("sink down for this message, not for others: ", refusal.message()))
      .WithNative(refusal.native())
      .WithHint(refusal.hint())
      .WithRetryAfter(WaitAsked(refusal));
}

std::vector<store::Outcome> TakeFront(std::vector<store::Outcome>& outcomes, std::size_t max) {
  if (outcomes.size() <= max) return std::exchange(outcomes, {});
  const auto end = outcomes.begin() + static_cast<std::ptrdiff_t>(max);
  std::vector<store::Outcome> taken(std::move_iterator(outcomes.begin()), std::move_iterator(end));
  outcomes.erase(outcomes.begin(), end);
  return taken;
}

void PutFront(std::vector<store::Outcome>& outcomes, const std::vector<store::Outcome>& front) {
  outcomes.insert(outcomes.begin(), front.begin(), front.end());
}

// A claim stays open while one of its messages is being published, settled as the others may be. So
// many more are open at most where outcomes are settled one by one.
std::size_t ClaimsMax(const store::RelayStoreTraits& store, const SinkTraits& sink) {
  return store.leases ? store.claims_max + sink.concurrency : store.claims_max;
}

std::size_t EffectiveWindow(const RelayOptions& options, const store::RelayStoreTraits& store,
                            const SinkTraits& sink) {
  std::size_t useful = sink.concurrency * sink.batch_max * kCallsHeldPerSlot;
  if (store.leases && options.retry.Exhausted(1)) {
    useful = std::min(useful, std::max(kHeldWithOneAttempt, sink.concurrency));
  }
  return std::max<std::size_t>(1, std::min(options.window, useful));
}

}  // namespace

Core::Core(const RelayOptions& options, store::RelayStoreTraits store, SinkTraits sink,
           base::Random& random)
    : options_(options),
      store_(store),
      sink_(sink),
      window_(EffectiveWindow(options, store, sink)),
      batch_(std::min(options.batch_size, window_)),
      claims_max_(ClaimsMax(store, sink)),
      random_(random),
      claim_limit_(batch_),
      poll_delay_(options.poll_min),
      store_backoff_(options.reconnect_max),
      courtesy_(options.lease),
      probe_backoff_(options.probe_min, options.probe_max),
      probe_width_(kProbeWidthMin),
      record_limit_(batch_) {}

// --- claimer ---

bool Core::MayClaim() const {
  if (paused_) return false;
  if (claims_.size() >= claims_max_) return false;
  // The sink is down: one probe at a time, and only when everything before it has been given back.
  if (sink_down_ || one_by_one_ || alone_ || record_limit_ < batch_) return claims_.empty();
  return held_messages_ + claim_limit_ <= window_;
}

// Without those that are held back.
std::size_t Core::ClaimLimit() const {
  if (sink_down_) return probe_other_ ? std::min(probe_width_, window_) : 1;
  return one_by_one_ ? 1 : std::min(claim_limit_, record_limit_);
}

// Each crash costs every message in hand an attempt. Bystanders must not die with the one message
// that causes them, so those that have seen several are delivered with nothing else in hand.
bool Core::Suspect(const Message& message) const {
  if (!unrecorded_.empty() && unrecorded_.contains(message.id)) return true;
  return message.in_doubt &&
         (message.attempt > kCrashesForgiven + 1 || options_.retry.Exhausted(message.attempt));
}

// Decides what a new claim has of messages that were refused, and gives back what it has over
// `limit`. Returns how many are left, to be published or recorded.
std::size_t Core::HoldBack(TimePoint now, HeldClaim& held, std::size_t limit) {
  const std::size_t count = held.states.size();
  if (unrecorded_.empty()) return count;
  const auto messages = held.claim->messages();
  const auto retry = std::find_if(messages.begin(), messages.end(), [&](const Message& message) {
    const auto found = unrecorded_.find(message.id);
    return found != unrecorded_.end() && found->second.as_retry;
  });
  if (retry != messages.end()) {
    const auto chosen = static_cast<std::size_t>(retry - messages.begin());
    Decide(held, chosen, Status::Retry(Code::kInternal, std::string(kOutcomeNotStored)));
    for (std::size_t i = 0; i < count; ++i) {
      if (i != chosen) GiveBack(held, i);
    }
    return 1;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto found = unrecorded_.find(messages[i].id);
    const bool waits = found != unrecorded_.end() && now < found->second.until;
    if (waits || kept == limit) {
      GiveBack(held, i);
    } else {
      ++kept;
    }
  }
  return kept;
}

// Gives the suspects of a new claim back, to be claimed one by one: a single one between two
// ordinary claims, so that the others do not wait for all of them.
void Core::Isolate(HeldClaim& held) {
  one_by_one_ = false;
  if (!held.claim->any_in_doubt() && unrecorded_.empty()) return;
  const auto messages = held.claim->messages();
  const auto waiting = [&](std::size_t i) { return held.states[i] == MessageState::kWaiting; };
  const auto count = static_cast<std::size_t>(
      std::count(held.states.begin(), held.states.end(), MessageState::kWaiting));
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!waiting(i) || !Suspect(messages[i])) continue;
    if (claims_.size() == 1 && count == 1) {
      alone_ = true;
      return;
    }
    GiveBack(held, i);
    one_by_one_ = true;
  }
}

ClaimerStep Core::NextClaimerStep(TimePoint now) {
  if (leading_ && now >= lead_ends_) Resign();
  const bool keep_leading = leading_ && now >= lead_again_;
  if (stopping_) {
    if (done(now)) return StopStep{};
    if (keep_leading) return LeadStep{};
    return WaitStep{std::min(stop_deadline_ + kLastSettles, LeadAgainAt())};
  }
  if (resigning_) {
    if (!claims_.empty()) return WaitStep{kNever};
    return ResignStep{};
  }
  if (keep_leading) return LeadStep{};
  if (now < claim_at_) return WaitStep{std::min(claim_at_, LeadAgainAt())};
  if (!MayClaim()) return WaitStep{LeadAgainAt()};
  if (options_.single_active && !lead_checked_) return LeadStep{};
  if (drain_waiters_ > 0 && last_claim_empty_ && claims_.empty()) {
    drain_checked_ = drain_asked_;
    return CheckDrainedStep{};
  }
  lead_checked_ = false;
  alone_ = false;
  claiming_ = true;
  const bool from_start =
      one_by_one_ || (sink_down_ && probe_other_) || record_limit_ < batch_ || voided_;
  voided_ = false;
  return ClaimStep{{.limit = ClaimLimit() + unrecorded_.size(),
                    .lease = options_.lease,
                    .attempts_max = options_.retry.attempts_max,
                    .from_start = from_start,
                    .spare_expired = courtesy_.Due(now, store_backoff_.since())}};
}

TimePoint Core::LeadAgainAt() const {
  return leading_ ? std::min(lead_again_, lead_ends_) : kNever;
}

void Core::OnReached(TimePoint now) {
  courtesy_.OnReached(now, store_backoff_.since());
  store_backoff_.Reset();
}

void Core::OnLead(TimePoint now, const Result<store::Leadership>& lead) {
  if (lead.ok()) OnReached(now);
  if (lead.ok() && *lead && now < **lead) {
    leading_ = lead_checked_ = true;
    lead_ends_ = **lead;
    lead_again_ = lead_ends_ == kNever ? kNever : lead_ends_ - options_.lease * 2 / 3;
    return;
  }
  lead_checked_ = false;
  if (lead.ok()) {
    if (leading_) Resign();
    claim_at_ = now + std::clamp(options_.poll_max, kStandbyPollMin, kStandbyPollMax);
    return;
  }
  // Unknown: the lead lasts as long as it was given.
  claim_at_ = lead_again_ = now + store_backoff_.Next(now, random_);
  if (leading_ && (now >= lead_ends_ || lead_ends_ == kNever)) Resign();
}

void Core::Resign() {
  leading_ = false;
  resigning_ = true;
  ReleaseWaiting();
}

void Core::OnResigned() { resigning_ = false; }

void Core::OnClaimed(TimePoint asked, TimePoint now, std::unique_ptr<store::Claim> claim) {
  claiming_ = false;
  OnReached(now);
  std::size_t count = claim->size();
  const std::size_t limit = ClaimLimit();
  const bool asked_before_outage = sink_down_ && now < claim_at_;
  last_claim_empty_ = count == 0 && claim->exhausted().empty();
  if (count > 0) {
    auto held = std::make_shared<HeldClaim>();
    held->states.assign(count, MessageState::kWaiting);
    held->unsettled = count;
    held->settle_backoff = Reconnect(options_.reconnect_max);
    held->lease_ends = store_.expires ? asked + options_.lease : kNever;
    held->extend_at = store_.expires ? asked + options_.lease / 3 : kNever;
    held->claim = std::move(claim);
    held_messages_ += count;
    claims_.push_back(held);
    count = HoldBack(now, *held, limit);
    if (sink_down_) {
      ChooseProbe(*held);
    } else {
      Isolate(*held);
    }
    if (stopping_ || paused_ || asked_before_outage) ReleaseWaiting(*held);
  } else {
    one_by_one_ = false;
  }
  if (asked_before_outage) return;
  if (count >= claim_limit_ && now - asked < kClaimQuick) {
    claim_limit_ = std::min(claim_limit_ * 2, batch_);
  }
  if (count >= limit || one_by_one_) {
    poll_delay_ = options_.poll_min;
    claim_at_ = now;
    return;
  }
  if (count > 0) poll_delay_ = options_.poll_min;
  const double jitter = options_.poll_min == options_.poll_max ? 1.0 : 0.9 + 0.2 * random_.Unit();
  claim_at_ = now + std::chrono::duration_cast<Duration>(poll_delay_ * jitter);
  if (count == 0) {
    const auto grown = std::chrono::duration_cast<Duration>(poll_delay_ * kPollGrowth);
    poll_delay_ = std::min<Duration>(grown, options_.poll_max);
  }
}

Duration Core::OnClaimFailed(TimePoint now, const Status& error) {
  claiming_ = false;
  const bool too_slow = error.code() == Code::kDeadline;
  if (too_slow && sink_down_ && probe_other_) {
    // So many do not come in time: the first in line next, and then among fewer.
    probe_width_ = std::max(probe_width_ / kProbeWidthGrowth, kProbeWidthMin);
    probe_other_ = false;
  } else if (too_slow && ClaimLimit() == claim_limit_) {
    claim_limit_ = std::max<std::size_t>(claim_limit_ / 2, 1);
  }
  const Duration wait = store_backoff_.Next(now, random_);
  claim_at_ = sink_down_ ? std::max(claim_at_, now + wait) : now + wait;
  return wait;
}

void Core::OnDrainedChecked(TimePoint now, bool drained) {
  if (drained) drained_ = drain_checked_;
  last_claim_empty_ = false;  // look once more before asking again
  if (!drained) claim_at_ = now + options_.poll_min;
}

void Core::OnWork(TimePoint now) {
  poll_delay_ = options_.poll_min;
  if (!sink_down_ && claim_at_ > now) claim_at_ = now;
}

// --- publishers ---

std::optional<Slice> Core::NextSlice(TimePoint now) {
  if (publishing_.size() >= sink_.concurrency) return std::nullopt;
  for (const auto& held : claims_) {
    auto& states = held->states;
    while (held->next_waiting < states.size() &&
           states[held->next_waiting] != MessageState::kWaiting) {
      ++held->next_waiting;
    }
    if (held->next_waiting == states.size()) continue;
    if (now >= held->lease_ends || (options_.single_active && (!leading_ || now >= lead_ends_))) {
      // We slept through the lease, or the lead: others may have these by now. Giving them back is
      // fenced.
      ReleaseWaiting(*held);
      continue;
    }
    Slice slice{.held = held, .first = held->next_waiting, .started = now};
    while (slice.count < sink_.batch_max && held->next_waiting < states.size() &&
           states[held->next_waiting] == MessageState::kWaiting) {
      states[held->next_waiting++] = MessageState::kPublishing;
      ++slice.count;
    }
    slice.deadline = now + options_.dispatch_timeout;
    slice.number = ++slices_made_;
    publishing_.push_back(slice);
    return slice;
  }
  return std::nullopt;
}

bool Core::OnPublished(TimePoint now, const Slice& slice, std::span<const Status> results,
                       bool reached) {
  const auto found = std::find_if(publishing_.begin(), publishing_.end(),
                                  [&](const Slice& other) { return other.number == slice.number; });
  if (found == publishing_.end()) return false;
  publishing_.erase(found);
  OUTBOX_CHECK(results.size() == slice.count);

  const auto messages = slice.messages();
  const auto attempted = [](const Status& result) { return result.code() != Code::kNotAttempted; };
  const bool any_attempted = std::any_of(results.begin(), results.end(), attempted);
  const bool alone = slice.count == 1 && reached && any_attempted;
  const Status* down = nullptr;
  bool refused_by_itself = false;
  for (std::size_t i = 0; i < slice.count; ++i) {
    if (results[i].disposition() != Disposition::kSinkDown) {
      if (!refused_.empty()) refused_.erase(messages[i].id);
      if (results[i].ok()) delivered_slice_ = std::max(delivered_slice_, slice.number);
      if (results[i].postponed()) {
        Postpone(*slice.held, slice.first + i, results[i]);
        continue;
      }
      if (any_attempted && !attempted(results[i])) {
        Release(*slice.held, slice.first + i);
        continue;
      }
    } else if (alone && !results[i].wants_pause() && NoteRefusal(now, slice, messages[i])) {
      refused_by_itself = true;
      Decide(*slice.held, slice.first + i, ItsOwnFailure(results[i]));
      continue;
    } else if (down == nullptr || Outlasts(results[i], *down)) {
      down = &results[i];
    }
    Decide(*slice.held, slice.first + i, results[i]);
  }
  if (down != nullptr) {
    SinkDownFor(now, slice, *down);
    if (down->wants_pause()) PauseFor(slice, *down);
    if (alone && !down->wants_pause() && refused_.at(messages[0].id).overtaken > 0) {
      claim_at_ = std::min(claim_at_, now + kSuspectWaits * options_.probe_min);
    }
    claim_at_ = std::max(claim_at_, now + WaitAsked(*down));
  } else if (sink_down_ && slice.number > down_since_slice_ && !refused_by_itself) {
    sink_down_ = false;
    down_reason_.clear();
    probe_backoff_.Reset();
    probe_other_ = false;
    claim_at_ = now;
  }
  return true;
}

// True when others got through often enough between the refusals of this message: its own failure.
bool Core::NoteRefusal(TimePoint now, const Slice& slice, const Message& message) {
  const bool known = refused_.contains(message.id);
  if (!known && refused_.size() >= kRefusedMax) refused_.erase(refused_.begin());
  Refusal& refusal = refused_[message.id];
  // Calls that were under way when another stopped the relay share its fate, not its fault.
  const bool same_outage = sink_down_ && slice.number <= down_since_slice_;
  if (known && !same_outage && delivered_slice_ > refusal.before_slice) ++refusal.overtaken;
  refusal.at = now;
  refusal.before_slice = slices_made_;
  if (sink_down_ && slice.number > down_since_slice_) {
    // Stopped twice by the same message, it tries another; then again the first in line.
    if (probe_other_) probe_width_ = std::min(probe_width_ * kProbeWidthGrowth, window_);
    probe_other_ = known && !probe_other_;
  }
  if (refusal.overtaken <= kOvertakenForgiven) return false;
  refusal.overtaken = kOvertakenLater;
  return true;
}

void Core::DropOldRefusals(TimePoint now) {
  std::erase_if(refused_, [&](const auto& entry) { return now - entry.second.at > kRefusalKept; });
  if (refused_.empty()) probe_width_ = kProbeWidthMin;
}

bool Core::OnReached(const Slice& slice) {
  const auto found = std::find_if(publishing_.begin(), publishing_.end(),
                                  [&](const Slice& other) { return other.number == slice.number; });
  if (found == publishing_.end()) return false;
  found->reached = true;
  return true;
}

std::vector<Slice> Core::GiveUpOverdue(TimePoint now) {
  std::vector<Slice> given_up;
  for (auto it = publishing_.begin(); it != publishing_.end();) {
    const TimePoint limit =
        stopping_ ? std::min(it->deadline + kGrace, stop_deadline_) : it->deadline + kGrace;
    if (now < limit) {
      ++it;
      continue;
    }
    GiveUp(now, *it);
    given_up.push_back(*it);
    it = publishing_.erase(it);
  }
  return given_up;
}

void Core::GiveUp(TimePoint now, const Slice& slice) {
  const bool stopped_first = stopping_ && now < slice.deadline;
  const std::string limit = base::FormatDuration(options_.dispatch_timeout);
  Status status;
  if (!slice.reached) {
    status =
        Status::SinkDown(stopped_first ? "the relay stopped before the sink was open"
                                       : base::StrCat("the sink was not open within the dispatch "
                                                      "timeout of ",
                                                      limit));
  } else if (stopped_first) {
    status =
        Status::Retry(Code::kCancelled, "abandoned: the relay stopped before the sink answered");
  } else {
    status = Status::Retry(Code::kDeadline,
                           base::StrCat("no answer within the dispatch timeout of ", limit));
  }
  for (std::size_t i = 0; i < slice.count; ++i) Decide(*slice.held, slice.first + i, status);
  if (!slice.reached) SinkDownFor(now, slice, status);
}

void Core::Decide(HeldClaim& held, std::size_t index, const Status& result) {
  const Message& message = held.claim->messages()[index];
  store::Outcome outcome{.index = static_cast<std::uint32_t>(index),
                         .error_class = result.disposition()};
  switch (result.disposition()) {
    case Disposition::kNone: outcome.kind = Kind::kDelivered; break;
    case Disposition::kSinkDown: outcome.kind = Kind::kReleased; break;
    case Disposition::kPermanent: outcome.kind = Kind::kDead; break;
    case Disposition::kRetry:
    case Disposition::kInDoubt:
      if (options_.retry.Exhausted(message.attempt)) {
        outcome.kind = Kind::kDead;
      } else {
        outcome.kind = Kind::kRetry;
        outcome.retry_in =
            std::max(options_.retry.DelayAfter(message.attempt, random_.Unit()), WaitAsked(result));
      }
      break;
  }
  // A message that is released keeps its last_error; why it was is for the history only.
  if (outcome.kind == Kind::kDead || outcome.kind == Kind::kRetry ||
      (outcome.kind == Kind::kReleased && options_.attempt_history != AttemptHistory::kOff)) {
    outcome.error = ErrorText(result, message, options_.last_error_bytes_max);
  }
  DecideAs(held, index, std::move(outcome));
}

void Core::DecideAs(HeldClaim& held, std::size_t index, store::Outcome outcome) {
  // A message whose lease was lost while it was being published has its end already.
  if (held.states[index] == MessageState::kSettled) return;
  held.states[index] = MessageState::kDecided;
  held.decided.push_back(std::move(outcome));
}

void Core::Release(HeldClaim& held, std::size_t index) {
  DecideAs(held, index, {.index = static_cast<std::uint32_t>(index), .kind = Kind::kReleased});
}

void Core::Postpone(HeldClaim& held, std::size_t index, const Status& result) {
  const Message& message = held.claim->messages()[index];
  DecideAs(held, index,
           {.index = static_cast<std::uint32_t>(index),
            .kind = Kind::kReleased,
            .retry_in = WaitAsked(result),
            .error = ErrorText(result, message, options_.last_error_bytes_max),
            .error_class = result.disposition()});
}

// Of a message that nobody has tried.
void Core::GiveBack(HeldClaim& held, std::size_t index) {
  DecideAs(
      held, index,
      {.index = static_cast<std::uint32_t>(index), .kind = Kind::kReleased, .untouched = true});
}

void Core::ReleaseWaiting(HeldClaim& held) {
  for (std::size_t i = held.next_waiting; i < held.states.size(); ++i) {
    if (held.states[i] != MessageState::kWaiting) continue;
    Release(held, i);
  }
}

void Core::ReleaseWaiting() {
  for (const auto& held : claims_) ReleaseWaiting(*held);
}

void Core::SinkDown(TimePoint now, const Status& reason) {
  if (!sink_down_) DropOldRefusals(now);
  sink_down_ = true;
  down_reason_ = base::CleanError(reason.ToString(), options_.last_error_bytes_max);
  down_since_slice_ = slices_made_;
  claim_at_ = now + probe_backoff_.Next(random_);
  ReleaseWaiting();
}

void Core::SinkDownFor(TimePoint now, const Slice& slice, const Status& reason) {
  if (!sink_down_ || slice.number > down_since_slice_) SinkDown(now, reason);
}

void Core::PauseFor(const Slice& slice, const Status& reason) {
  if (slice.number <= resumed_after_slice_) return;
  paused_ = true;
  pause_reason_ = base::CleanError(reason.ToString(), options_.last_error_bytes_max);
  ReleaseWaiting();
}

// Keeps one message of a claim: the first, or the last that has not been refused yet, which is the
// least likely to have something in common with those that were.
void Core::ChooseProbe(HeldClaim& held) {
  const auto messages = held.claim->messages();
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (held.states[i] != MessageState::kWaiting) continue;
    if (!chosen || (probe_other_ && !refused_.contains(messages[i].id))) chosen = i;
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (i == chosen || held.states[i] != MessageState::kWaiting) continue;
    Release(held, i);
  }
  one_by_one_ = false;
  alone_ = chosen && Suspect(messages[*chosen]);
}

// --- settler ---

SettlerStep Core::NextSettlerStep(TimePoint now) {
  TimePoint wake = kNever;
  // Leases first: settling, the database being slow, may take longer than they last.
  for (const auto& held : claims_) {
    if (held->busy || !store_.leases || now < held->extend_at) continue;
    held->busy = true;
    return ExtendStep{held};
  }
  for (const auto& held : claims_) {
    if (held->busy) continue;
    const bool complete = held->decided.size() == held->unsettled;
    if (!held->decided.empty() && (store_.leases || complete)) {
      if (now >= held->settle_after) {
        held->busy = true;
        return SettleStep{held, TakeFront(held->decided, held->settle_max)};
      }
      wake = std::min(wake, held->settle_after);
    }
    if (store_.leases) {
      wake = std::min(wake, held->extend_at);
    } else if (!complete || now < held->settle_after) {
      if (now >= held->extend_at) {
        held->busy = true;
        return ExtendStep{held};
      }
      wake = std::min(wake, held->extend_at);
    }
  }
  if (stopping_ && done(now)) return StopStep{};
  if (stopping_) wake = std::min(wake, stop_deadline_ + kLastSettles);
  return WaitStep{std::min(wake, NextOverdue())};
}

Settled Core::OnSettled(const SettleStep& step, const store::SettleReport& report) {
  HeldClaim& held = *step.held;
  held.busy = false;
  held.settle_backoff.Reset();
  held.refused_in_a_row = 0;
  if (held.settle_max <= held.states.size()) held.settle_max *= 2;
  if (!store_.leases) NoteRecorded(step);
  Settled settled;
  settled.lost = report.lost;
  std::vector<bool> lost(held.states.size());
  for (const std::uint32_t index : report.lost) lost[index] = true;
  for (const store::Outcome& outcome : step.outcomes) {
    if (held.states[outcome.index] == MessageState::kSettled) continue;
    held.states[outcome.index] = MessageState::kSettled;
    --held.unsettled;
    --held_messages_;
    if (lost[outcome.index]) {
      ++settled.counts.lost;
      continue;
    }
    switch (outcome.kind) {
      case Kind::kDelivered: ++settled.counts.delivered; break;
      case Kind::kRetry: ++settled.counts.retried; break;
      case Kind::kReleased: ++settled.counts.released; break;
      case Kind::kDead:
        ++settled.counts.dead;
        settled.dead.push_back(outcome.index);
        break;
    }
  }
  if (held.unsettled == 0) Forget(step.held);
  return settled;
}

SettleFailure Core::OnSettleFailed(TimePoint now, const SettleStep& step, const Status& error) {
  HeldClaim& held = *step.held;
  held.busy = false;
  if (!store_.leases) return OnVoid(now, step, error);
  if (error.disposition() == Disposition::kPermanent) return OnRefused(step);
  if (error.code() == Code::kDeadline) {
    held.settle_max = std::max<std::size_t>(step.outcomes.size() / 2, 1);
  }
  // Outcomes decided meanwhile go along the next time.
  PutFront(held.decided, step.outcomes);
  const Duration wait = held.settle_backoff.Next(now, random_);
  held.settle_after = now + wait;
  return {.retry_in = wait, .forgotten = {}};
}

SettleFailure Core::OnRefused(const SettleStep& step) {
  HeldClaim& held = *step.held;
  if (step.outcomes.size() > 1) {
    held.settle_max = step.outcomes.size() / 2;
    PutFront(held.decided, step.outcomes);
    return {};
  }
  std::vector<store::Outcome> alone = step.outcomes;
  held.settle_max = 1;
  if (!alone[0].error.empty() && alone[0].error != kErrorNotStored) {
    alone[0].error = kErrorNotStored;
    PutFront(held.decided, alone);
    return {};
  }
  if (++held.refused_in_a_row >= kRefusedInARowMax) {
    return {.retry_in = {}, .forgotten = Forget(step.held)};
  }
  MarkLost(held, alone[0].index);
  if (held.unsettled == 0) Forget(step.held);
  return {.retry_in = {}, .forgotten = {alone[0].index}};
}

SettleFailure Core::OnVoid(TimePoint now, const SettleStep& step, const Status& error) {
  const HeldClaim& held = *step.held;
  std::vector<std::uint32_t> tried;
  for (const store::Outcome& outcome : step.outcomes) {
    if (!outcome.untouched) tried.push_back(outcome.index);
  }
  SettleFailure failure{.retry_in = {}, .forgotten = Forget(step.held)};
  voided_ = true;
  const bool refused = error.disposition() == Disposition::kPermanent && WasRefused(error.code());
  const bool found = refused && tried.size() == 1;
  if (found) {
    record_suspects_ = 0;
    NoteUnrecorded(now, held.claim->messages()[tried[0]]);
  } else if (refused && tried.size() > 1) {
    record_suspects_ = tried.size();
    record_limit_ = tried.size() / 2;
  }
  // So many, each alone: it is not them.
  if (found && ++refused_in_a_row_ < kRefusedInARowMax) return failure;
  failure.retry_in = record_backoff_.Next(random_);
  claim_at_ = std::max(claim_at_, now + failure.retry_in);
  return failure;
}

void Core::NoteUnrecorded(TimePoint now, const Message& message) {
  std::erase_if(unrecorded_,
                [&](const auto& entry) { return now - entry.second.at > kRefusalKept; });
  const bool known = unrecorded_.contains(message.id);
  if (!known && unrecorded_.size() >= kRefusedMax) unrecorded_.erase(unrecorded_.begin());
  Unrecorded& entry = unrecorded_[message.id];
  entry.at = now;
  entry.as_retry = !entry.as_retry && now >= entry.until;
  if (!entry.as_retry) entry.until = now + entry.backoff.Next(random_);
}

void Core::NoteRecorded(const SettleStep& step) {
  std::size_t recorded = 0;
  const auto messages = step.held->claim->messages();
  for (const store::Outcome& outcome : step.outcomes) {
    if (outcome.untouched) continue;
    ++recorded;
    if (unrecorded_.empty()) continue;
    const auto found = unrecorded_.find(messages[outcome.index].id);
    if (found == unrecorded_.end()) continue;
    found->second.as_retry = false;
    if (outcome.kind == Kind::kDelivered || outcome.kind == Kind::kDead) unrecorded_.erase(found);
  }
  if (recorded == 0) return;
  record_backoff_.Reset();
  refused_in_a_row_ = 0;
  record_suspects_ -= std::min(record_suspects_, recorded);
  if (record_suspects_ == 0) record_limit_ = std::min(record_limit_ * 2, batch_);
}

void Core::OnExtended(TimePoint asked, const ExtendStep& step,
                      std::span<const std::uint32_t> lost) {
  HeldClaim& held = *step.held;
  held.busy = false;
  held.lease_ends = asked + options_.lease;
  held.extend_at = asked + options_.lease / 3;
  for (const std::uint32_t index : lost) MarkLost(held, index);
  if (held.unsettled == 0) Forget(step.held);
}

Duration Core::OnExtendFailed(TimePoint now, const ExtendStep& step) {
  step.held->busy = false;
  const Duration wait = step.held->settle_backoff.Next(now, random_);
  step.held->extend_at = now + wait;
  return wait;
}

void Core::MarkLost(HeldClaim& held, std::uint32_t index) {
  if (held.states[index] == MessageState::kSettled) return;
  held.states[index] = MessageState::kSettled;
  std::erase_if(held.decided, [&](const store::Outcome& o) { return o.index == index; });
  --held.unsettled;
  --held_messages_;
}

std::vector<std::uint32_t> Core::Forget(const std::shared_ptr<HeldClaim>& held) {
  std::vector<std::uint32_t> forgotten;
  const auto found = std::find(claims_.begin(), claims_.end(), held);
  if (found == claims_.end()) return forgotten;
  for (std::uint32_t i = 0; i < held->states.size(); ++i) {
    if (held->states[i] == MessageState::kSettled) continue;
    held->states[i] = MessageState::kSettled;
    forgotten.push_back(i);
  }
  held_messages_ -= held->unsettled;
  held->unsettled = 0;
  claims_.erase(found);
  return forgotten;
}

// --- control ---

void Core::RequestStop(TimePoint deadline) {
  if (stopping_) return;
  stopping_ = true;
  stop_deadline_ = deadline;
  ReleaseWaiting();
}

void Core::Pause(TimePoint now, bool held) {
  paused_ = held;
  if (paused_) {
    ReleaseWaiting();
  } else {
    pause_reason_.clear();
    resumed_after_slice_ = slices_made_;
    claim_at_ = now;
  }
}

std::uint64_t Core::WantDrained() {
  ++drain_waiters_;
  return ++drain_asked_;
}

void Core::WantDrainedNoMore() {
  OUTBOX_CHECK(drain_waiters_ > 0);
  --drain_waiters_;
}

bool Core::done(TimePoint now) const {
  return stopping_ && ((claims_.empty() && !claiming_) || now >= stop_deadline_ + kLastSettles);
}

RelayState Core::state() const {
  if (stopping_) return RelayState::kDraining;
  if (options_.single_active && !leading_) return RelayState::kStandby;
  if (paused_) return RelayState::kPaused;
  return sink_down_ ? RelayState::kWaitingForSink : RelayState::kRunning;
}

TimePoint Core::NextOverdue() const {
  TimePoint next = kNever;
  for (const Slice& slice : publishing_) {
    next = std::min(next, slice.deadline + kGrace);
    if (stopping_) next = std::min(next, stop_deadline_);
  }
  return next;
}

}  // namespace outbox::relay
