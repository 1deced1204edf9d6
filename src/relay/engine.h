// Engine: the threads that play the roles of a Core against a real store and a real sink.
//
// One claimer, one settler, and as many publishers as the sink allows. A publisher whose sink does
// not come back is left behind and replaced: it keeps what it uses alive and ends when its sink
// returns, without anybody looking at the answer.
//
// Threads: every public method may be called from any thread. Start once; Stop before destruction.
// The engine's own threads, that is sinks and observers, can not wait for it: their Stop only
// begins to stop, their Drain fails.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/turn.h"
#include "outbox/relay.h"
#include "relay/core.h"
#include "relay/sink_opening.h"
#include "store/relay_store.h"

namespace outbox::relay {

class Engine : public std::enable_shared_from_this<Engine> {
 public:
  // `observer` may be null. `table` is the display name used in observer calls. Fails when the
  // system has no more threads. Nobody calls the sink before `opening`, if there is one, has ended.
  static Result<std::shared_ptr<Engine>> Start(RelayOptions options, std::string table,
                                               std::unique_ptr<store::RelayStore> store,
                                               std::shared_ptr<Sink> sink,
                                               std::shared_ptr<RelayObserver> observer,
                                               SinkOpening opening = {});
  ~Engine() = default;

  Status Stop();
  Status Drain(Deadline deadline);
  // True in a sink or an observer that this engine has called.
  bool IsOwnThread() const noexcept;
  // Messages may have been committed: look at once.
  void Wake();
  void Pause(bool paused);
  RelayStats Stats() const;

 private:
  Engine(RelayOptions options, std::string table, std::unique_ptr<store::RelayStore> store,
         std::shared_ptr<Sink> sink, std::shared_ptr<RelayObserver> observer, SinkOpening opening);

  void StartThreads();
  void RequestStop();
  void RunClaimer();
  void RunSettler();
  struct Publisher {
    std::thread thread;
    std::uint64_t slice = 0;  // what it is working on
  };
  void RunPublisher(Publisher& self);

  // One step of a role; called without the lock.
  void Lead();
  void Claim(const ClaimStep& step);
  void CheckDrained();
  void Settle(const SettleStep& step);
  void Extend(const ExtendStep& step);
  struct Published {
    std::vector<Status> results;
    bool reached = true;  // false: the messages were not shown to the sink
  };
  Published Publish(const Slice& slice);
  // Fails with kSinkDown, also when another thread's Open does not end before the deadline.
  Status OpenSink(Deadline deadline);

  void StartPublisher();
  // Lets go of the publisher that does not come back from this slice, and replaces it.
  void LeaveBehind(const Slice& slice);
  void ReplacePublishers();
  void TellOverdue(const Slice& slice, TimePoint now);
  void WatchForWork();
  // Tells the observer of a changed state; needs the lock, and drops it while telling.
  void TellState(std::unique_lock<std::mutex>& lock);
  void TellSettleFailed(const SettleStep& step, const Status& error, const SettleFailure& failure);
  void CountSettled(const Settled& settled);

  const RelayOptions options_;
  const std::string table_;
  const std::unique_ptr<store::RelayStore> store_;
  const std::shared_ptr<Sink> sink_;
  const std::shared_ptr<RelayObserver> observer_;
  base::SeededRandom random_;

  std::unique_ptr<store::Watch> watch_;  // set before the threads start, reset after they ended
  std::thread claimer_;
  std::thread settler_;

  std::mutex stop_mutex_;  // one Stop at a time
  bool stopped_ = false;   // guarded by stop_mutex_
  Status stop_result_;     // guarded by stop_mutex_

  const SinkOpening opening_;  // begun before the engine was made
  base::Turn opening_turn_;    // one Open at a time
  std::atomic<bool> sink_open_{false};

  mutable std::mutex mutex_;  // guards everything below
  std::condition_variable claimer_wake_;
  std::condition_variable settler_wake_;
  std::condition_variable publisher_wake_;
  std::condition_variable drained_wake_;
  Core core_;
  RelayStats stats_;
  RelayState told_state_ = RelayState::kStarting;
  bool told_leading_ = false;
  bool publishers_stop_ = false;
  std::list<Publisher> publishers_;
  std::size_t left_behind_ = 0;  // threads whose sink has not come back
};

}  // namespace outbox::relay
