// LaneBoard: where the relays of a table with routes ask for work, and its splitter leaves it.
//
// Each relay has a lane, named by its destination. It asks when it has room; the splitter leases
// messages that go to that destination alone, in their own rows, and leaves them as one claim; the
// relay is woken and takes it. A relay that does not ask (its sink is away, it is held, on standby
// or behind) is passed over: its messages become deliveries.
//
// A claim that nobody takes in kTakenWithin is taken back. Leases are made to last that much longer
// than the relay asked for, so that they can be counted from the taking.
//
// Time comes in with each call. Threads: any; one plays the splitter.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "store/split_store.h"

namespace outbox::relay {

class LaneBoard {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  static constexpr std::chrono::milliseconds kTakenWithin{1000};
  // A relay that has just been started has this long to ask for the first time.
  static constexpr std::chrono::milliseconds kFirstAskWithin{1000};

  LaneBoard(const std::vector<std::string>& destinations, TimePoint now);

  std::size_t lanes() const noexcept { return lanes_.size(); }

  // Calls `wake` when a lane asks that did not before; when a claim is left on this lane. Null ends
  // the calls: none is under way any more when it returns. Not to be called from `wake`.
  void OnAsked(std::function<void()> wake);
  void OnLeft(std::string_view destination, std::function<void()> wake);

  // --- a relay's side ---
  // There is room for this much. Takes the place of what was asked before.
  void Ask(std::string_view destination, const store::ClaimRequest& request, TimePoint now);
  void Withdraw(std::string_view destination);
  // What was left, or null.
  std::unique_ptr<store::Claim> Take(std::string_view destination, TimePoint now);
  // Waits, in real time, until something was left or the splitter has looked since the last Ask and
  // left nothing.
  void Await(std::string_view destination, Duration timeout);
  // How often the splitter added deliveries.
  std::uint64_t deliveries_added() const;

  // --- the splitter's side ---
  // What to ask the store for; a lane that was active within `patience` is passed over only then.
  std::vector<store::LaneRequest> BeginRound(TimePoint now, Duration patience);
  // `leased` is when the call that made the claim began.
  void Leave(std::string_view destination, std::unique_ptr<store::Claim> claim, TimePoint leased,
             TimePoint now);
  void EndRound(bool deliveries_added);
  // Claims that nobody has taken in time, and when the next one will be one.
  std::vector<std::unique_ptr<store::Claim>> TakeBack(TimePoint now);
  TimePoint next_take_back() const;
  // Nothing is left or taken any more. Returns what was.
  std::vector<std::unique_ptr<store::Claim>> Close();

 private:
  struct Lane {
    std::string destination;
    store::ClaimRequest request;  // limit 0: it does not ask
    std::uint64_t asked_in = 0;   // the round under way, or ended, then
    // Until then, at least, it is not passed over; by its last activity and `patience`.
    TimePoint first_ask_until{};
    TimePoint active{};
    std::unique_ptr<store::Claim> claim;
    TimePoint leased{};
    std::function<void()> on_left;  // guarded by wake_mutex_
  };

  Lane& Find(std::string_view destination);

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable answered_;
  std::vector<Lane> lanes_;  // as many as in the beginning
  std::uint64_t rounds_begun_ = 0;
  std::uint64_t rounds_ended_ = 0;
  std::uint64_t deliveries_added_ = 0;
  bool closed_ = false;

  std::mutex wake_mutex_;  // held while calling; never locked inside mutex_
  std::function<void()> on_asked_;
};

}  // namespace outbox::relay
