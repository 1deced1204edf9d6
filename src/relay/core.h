// Core: the relay's state machine. It decides; it does nothing itself.
//
// No threads, no clock, no I/O: the current time comes in with each call, randomness from outside,
// and what is to be done goes out as a step for one of three roles. The driver (relay.cc) has a
// thread per role; a simulation plays all roles in one thread on a virtual clock.
//
//   claimer:   Lead → Claim → … or Wait
//   publisher: a slice of a claim's messages at a time
//   settler:   Settle and Extend (the lease heartbeat), or Wait
//
// Rules it keeps: a message is handed to a publisher only while its lease is surely ours, and so is
// the lead in single-active mode; each message gets exactly one outcome; never more than `window`
// messages are held; a sink that is down costs no attempts; a message that may have killed relays
// takes no others along, and one that alone is answered "sink down" does not stop them; a sink that
// wants no more messages pauses the relay until it is resumed.
//
// Threads: none of its own; the driver serialises calls with a mutex.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"
#include "outbox/observer.h"
#include "outbox/options.h"
#include "outbox/relay.h"
#include "outbox/sink.h"
#include "outbox/uuid.h"
#include "relay/backoff.h"
#include "relay/courtesy.h"
#include "relay/reconnect.h"
#include "store/relay_store.h"

namespace outbox::relay {

using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

// How long a call of the store may take.
constexpr std::chrono::seconds kStoreTimeout{10};

// A claim while the relay holds it. Shared with publishers that may outlive the relay's interest.
struct HeldClaim {
  enum class MessageState : std::uint8_t { kWaiting, kPublishing, kDecided, kSettled };

  std::unique_ptr<store::Claim> claim;
  std::vector<MessageState> states;
  std::size_t next_waiting = 0;  // messages before it have left kWaiting
  std::size_t unsettled = 0;
  std::vector<store::Outcome> decided;  // waiting to be settled
  TimePoint lease_ends{};               // by our clock, cautiously: counted from before the call
  TimePoint extend_at{};
  TimePoint settle_after{};  // not before, after a failed settle
  Reconnect settle_backoff;
  std::size_t settle_max = std::numeric_limits<std::size_t>::max();  // outcomes a time
  std::size_t refused_in_a_row = 0;  // outcomes that the database refused, each by itself
  bool busy = false;                 // the settler is working on it
};

// A publisher's work: messages [first, first + count) of a claim, until `deadline`.
struct Slice {
  std::shared_ptr<HeldClaim> held;
  std::size_t first = 0;
  std::size_t count = 0;
  TimePoint deadline{};
  TimePoint started{};
  std::uint64_t number = 0;
  bool reached = false;  // the sink was open and has been shown the messages

  std::span<const Message> messages() const {
    return held->claim->messages().subspan(first, count);
  }
};

struct WaitStep {
  TimePoint until;
};
struct LeadStep {};
struct ResignStep {};
struct ClaimStep {
  store::ClaimRequest request;
};
struct CheckDrainedStep {};
struct SettleStep {
  std::shared_ptr<HeldClaim> held;
  std::vector<store::Outcome> outcomes;
};
struct ExtendStep {
  std::shared_ptr<HeldClaim> held;
};
struct StopStep {};

using ClaimerStep =
    std::variant<WaitStep, LeadStep, ResignStep, ClaimStep, CheckDrainedStep, StopStep>;
using SettlerStep = std::variant<WaitStep, SettleStep, ExtendStep, StopStep>;

// What becomes of outcomes that could not be recorded.
struct SettleFailure {
  Duration retry_in{};
  // Given up: their messages are delivered again when their lease ends.
  std::vector<std::uint32_t> forgotten;
};

// What a settle did, in the words of the observers.
struct Settled {
  SettleCounts counts;
  std::vector<std::uint32_t> lost;
  std::vector<std::uint32_t> dead;
};

class Core {
 public:
  Core(const RelayOptions& options, store::RelayStoreTraits store, SinkTraits sink,
       base::Random& random);

  // --- claimer ---
  ClaimerStep NextClaimerStep(TimePoint now);
  // A failure leaves a leader what it was until its lead ends.
  void OnLead(TimePoint now, const Result<store::Leadership>& lead);
  void OnResigned();
  // `asked` is when the call was made: leases are counted from then.
  void OnClaimed(TimePoint asked, TimePoint now, std::unique_ptr<store::Claim> claim);
  // Returns how long the claimer will wait before it tries again. A claim that did not come in time
  // makes the next ones smaller.
  Duration OnClaimFailed(TimePoint now, const Status& error);
  std::size_t claim_limit() const { return claim_limit_; }
  void OnDrainedChecked(TimePoint now, bool drained);
  // Something was perhaps committed: look at once.
  void OnWork(TimePoint now);

  // --- publishers ---
  std::optional<Slice> NextSlice(TimePoint now);
  // The answer of a publisher. False when the slice had been given up: the answer is ignored.
  // `reached` is false when the sink could not even be opened: that says nothing of the messages.
  bool OnPublished(TimePoint now, const Slice& slice, std::span<const Status> results,
                   bool reached = true);
  // The sink is open and is now shown the slice. False when the slice was given up before: its
  // messages are no longer ours to publish.
  bool OnReached(const Slice& slice);
  // Slices past their deadline and a grace, now given up. Their messages are retried, or released
  // if the sink was never reached; that is a sink which is down.
  std::vector<Slice> GiveUpOverdue(TimePoint now);

  // --- settler ---
  SettlerStep NextSettlerStep(TimePoint now);
  Settled OnSettled(const SettleStep& step, const store::SettleReport& report);
  // After a failure for good the outcomes are recorded in smaller parts, down to single ones, so
  // that one which the database refuses takes no others along. A transaction claim is void then;
  // see OnVoid.
  SettleFailure OnSettleFailed(TimePoint now, const SettleStep& step, const Status& error);
  // `lost` are the messages that are no longer ours.
  void OnExtended(TimePoint asked, const ExtendStep& step, std::span<const std::uint32_t> lost);
  Duration OnExtendFailed(TimePoint now, const ExtendStep& step);

  // --- control ---
  // No new claims; what waits is released; what is publishing has until `deadline`.
  void RequestStop(TimePoint deadline);
  // Several may wait at once, each by its own number: only a look that begins after it asked is an
  // answer. Each ends with WantDrainedNoMore.
  std::uint64_t WantDrained();
  void WantDrainedNoMore();
  bool drained(std::uint64_t number) const { return drained_ >= number; }
  // While paused nothing is claimed or handed out; what waits is released.
  void Pause(TimePoint now, bool paused);
  // Stopping, and nothing is held any more (or waiting longer is pointless).
  bool done(TimePoint now) const;

  RelayState state() const;
  bool leading() const { return leading_; }
  // Why the sink is down, or why the relay has paused itself.
  std::string_view why() const { return paused_ ? pause_reason_ : down_reason_; }
  // Empty unless the sink's answer paused the relay.
  const std::string& pause_reason() const { return pause_reason_; }
  std::size_t held_messages() const { return held_messages_; }
  std::size_t held_claims() const { return claims_.size(); }
  std::size_t publishing() const { return publishing_.size(); }  // slices handed out
  // When some role has something to do next, apart from answers to come in.
  TimePoint NextOverdue() const;

 private:
  void Decide(HeldClaim& held, std::size_t index, const Status& result);
  void DecideAs(HeldClaim& held, std::size_t index, store::Outcome outcome);
  void Release(HeldClaim& held, std::size_t index);
  void Postpone(HeldClaim& held, std::size_t index, const Status& result);
  void GiveBack(HeldClaim& held, std::size_t index);
  void ReleaseWaiting();
  void ReleaseWaiting(HeldClaim& held);
  void SinkDown(TimePoint now, const Status& reason);
  // Several calls of one outage come back one after the other; only the first, and later each
  // probe, lengthens the wait.
  void SinkDownFor(TimePoint now, const Slice& slice, const Status& reason);
  // A call that was under way when somebody resumed the relay pauses it no more.
  void PauseFor(const Slice& slice, const Status& reason);
  void GiveUp(TimePoint now, const Slice& slice);
  void ChooseProbe(HeldClaim& held);
  bool NoteRefusal(TimePoint now, const Slice& slice, const Message& message);
  void DropOldRefusals(TimePoint now);
  // Returns those that had not been settled.
  std::vector<std::uint32_t> Forget(const std::shared_ptr<HeldClaim>& held);
  void MarkLost(HeldClaim& held, std::uint32_t index);
  SettleFailure OnRefused(const SettleStep& step);
  // The database has answered.
  void OnReached(TimePoint now);
  TimePoint LeadAgainAt() const;
  void Resign();
  SettleFailure OnVoid(TimePoint now, const SettleStep& step, const Status& error);
  void NoteUnrecorded(TimePoint now, const Message& message);
  void NoteRecorded(const SettleStep& step);
  std::size_t HoldBack(TimePoint now, HeldClaim& held, std::size_t limit);
  std::size_t ClaimLimit() const;
  bool MayClaim() const;
  bool Suspect(const Message& message) const;
  void Isolate(HeldClaim& held);

  const RelayOptions options_;
  const store::RelayStoreTraits store_;
  const SinkTraits sink_;
  const std::size_t window_;  // options' window, less for sinks that take messages one by one
  const std::size_t batch_;
  const std::size_t claims_max_;  // open at once
  base::Random& random_;

  std::list<std::shared_ptr<HeldClaim>> claims_;  // oldest first
  std::size_t held_messages_ = 0;
  std::list<Slice> publishing_;
  std::uint64_t slices_made_ = 0;

  TimePoint claim_at_{};
  bool claiming_ = false;    // a claim was asked for and has not come back
  std::size_t claim_limit_;  // batch_, or less while such claims take too long
  Duration poll_delay_;
  Reconnect store_backoff_;
  Courtesy courtesy_;
  bool lead_checked_ = false;  // leadership was confirmed for the next claim
  bool leading_ = false;
  TimePoint lead_ends_{};   // nothing is handed out from then on, unless the lead is renewed
  TimePoint lead_again_{};  // when to renew it
  bool resigning_ = false;

  // See Isolate.
  bool one_by_one_ = false;  // the next claim is of one message
  bool alone_ = false;       // the message in hand is to stay the only one

  bool sink_down_ = false;
  std::string down_reason_;
  Backoff probe_backoff_;
  std::uint64_t down_since_slice_ = 0;

  // Messages that were answered "sink down" when nothing else was in their call. Those that are
  // again and again, while others get through in between, have a failure of their own.
  struct Refusal {
    TimePoint at{};
    std::uint64_t before_slice = 0;  // slices made by then
    int overtaken = 0;               // how often refused after others had got through
  };
  std::map<Uuid, Refusal> refused_;
  std::uint64_t delivered_slice_ = 0;  // the latest call that delivered
  bool probe_other_ = false;           // not with a message that is refused, if there is another
  std::size_t probe_width_;            // among so many it is looked for

  // Transaction claims whose outcomes the database refuses. A refusal voids the whole claim, so
  // the next ones are smaller, one at a time and from the start, until the message that is refused
  // is found alone. For each such message, another one is published at most log2(batch) + 2 times.
  std::size_t record_limit_;          // batch_, or less while one is looked for
  std::size_t record_suspects_ = 0;   // it is among so many
  std::size_t refused_in_a_row_ = 0;  // messages refused, each alone
  bool voided_ = false;               // messages went back to the start of the line
  Backoff record_backoff_;
  // Messages that were refused alone. Each is recorded as a retry when it comes again, without
  // being published; if even that is refused, it is given back untouched until `until`. From then
  // on it is published with no others in hand.
  struct Unrecorded {
    TimePoint at{};
    TimePoint until{};
    Backoff backoff{std::chrono::seconds(1), std::chrono::minutes(5)};
    bool as_retry = false;
  };
  std::map<Uuid, Unrecorded> unrecorded_;

  bool paused_ = false;
  std::string pause_reason_;               // set when the sink wanted the pause
  std::uint64_t resumed_after_slice_ = 0;  // calls up to it were answered before the last resume
  bool stopping_ = false;
  TimePoint stop_deadline_{};
  std::size_t drain_waiters_ = 0;
  std::uint64_t drain_asked_ = 0;    // the latest number
  std::uint64_t drain_checked_ = 0;  // the latest when the look under way, or the last, began
  std::uint64_t drained_ = 0;        // up to this number
  bool last_claim_empty_ = false;
};

}  // namespace outbox::relay
