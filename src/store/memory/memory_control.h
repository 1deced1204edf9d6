// MemoryControl: heartbeats, pauses and the audit in memory, for tests of whoever beats. Its clock
// is injected, and beats and pauses can be made to fail.
//
// Threads: any. The stores that it opened must not outlive it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "store/control_store.h"

namespace outbox::store {

class MemoryControl {
 public:
  using Clock = std::function<Timestamp()>;

  explicit MemoryControl(Clock clock) : clock_(std::move(clock)) {}

  std::unique_ptr<ControlStore> Open();
  // From now on beats fail with it; an OK status ends that.
  void FailBeats(Status error);
  // The same for Pause.
  void FailPauses(Status error);
  // How often Beat was called.
  std::size_t beats() const;
  void Record(AuditRecord record);

 private:
  friend class MemoryControlStore;

  using Key = std::tuple<std::string, std::string, std::string>;  // process, table, sink
  struct Row {
    ListedRelay listed;
    std::chrono::milliseconds interval{0};
  };

  const Clock clock_;
  mutable std::mutex mutex_;  // guards everything below
  std::map<Key, Row> relays_;
  std::map<std::pair<std::string, std::string>, RelayPause> pauses_;  // by table and sink
  std::vector<AuditRecord> audit_;
  Status failure_;
  Status pause_failure_;
  std::size_t beats_ = 0;
};

}  // namespace outbox::store
