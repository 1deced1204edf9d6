// Heartbeat: tells the database how the relays of this process stand, and pauses or resumes those
// that an operator of any process has paused or resumed. A relay that its sink has paused is
// recorded as an operator's pause is, so that it lasts and every process knows; until the database
// has taken the record, each beat tries again.
//
// It has a session and a thread of its own and every call a deadline: a database that is slow or
// away costs the relays nothing, and they stay as they were told last. Where the tables for it are
// missing the relays run without it; the observer is told once, and again when it works.
//
// Threads: one of its own. Turn and Stop may be called from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "outbox/observer.h"
#include "outbox/relay.h"
#include "store/control_store.h"

namespace outbox::relay {

// A relay that outlives its heartbeat.
struct BeatingRelay {
  std::string table;  // its display name
  std::string sink;   // empty: the table's only one
  bool single_active = false;
  bool paused = false;  // it was started so
  Relay* relay = nullptr;
};

struct HeartbeatOptions {
  store::ProcessInfo process;
  std::chrono::milliseconds interval{std::chrono::seconds(5)};
};

class Heartbeat {
 public:
  // Beats at once, then every interval. `observer` may be null.
  static std::unique_ptr<Heartbeat> Start(std::unique_ptr<store::ControlStore> store,
                                          HeartbeatOptions options,
                                          std::vector<BeatingRelay> relays,
                                          std::shared_ptr<RelayObserver> observer);
  // Stops.
  ~Heartbeat();

  // For whoever has just written, or ended, a pause: pauses or resumes these relays now instead of
  // at the next beat. Without a sink all of the table's. Returns how many these are.
  std::size_t Turn(std::string_view table, std::string_view sink, bool pause);

  // The relays are no longer listed. Takes as long as the call under way, and one more; both are
  // bounded.
  void Stop();

 private:
  Heartbeat(std::unique_ptr<store::ControlStore> store, HeartbeatOptions options,
            std::vector<BeatingRelay> relays, std::shared_ptr<RelayObserver> observer);

  void Run();
  Result<std::vector<store::RelayPause>> Beat();
  // Records the pauses that sinks wanted.
  void RecordPauses();
  Status Record(const BeatingRelay& relay, const std::string& reason);
  // With mutex_ held. True when that changed something.
  bool Apply(const std::vector<store::RelayPause>& pauses);
  void Tell(const Status& beaten);

  const std::unique_ptr<store::ControlStore> store_;
  const HeartbeatOptions options_;
  const std::shared_ptr<RelayObserver> observer_;
  bool works_ = true;    // as the observer knows; of the thread
  bool records_ = true;  // likewise, of pauses

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<BeatingRelay> relays_;  // `paused` is guarded by mutex_, the rest constant
  std::uint64_t turns_ = 0;           // guarded by mutex_
  bool stopping_ = false;             // guarded by mutex_
  std::thread thread_;
};

}  // namespace outbox::relay
