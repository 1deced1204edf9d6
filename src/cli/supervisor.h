// Supervisor: the relays, splitters and cleaners of a configuration and the process's heartbeat,
// started together and stopped together. A table with routes has a splitter, a relay for each of
// its sinks, and a board between them.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/opened_parts.h"
#include "cli/signals.h"
#include "config/config.h"
#include "outbox/observer.h"
#include "outbox/relay.h"
#include "outbox/status.h"
#include "relay/cleaner.h"
#include "relay/heartbeat.h"
#include "relay/splitter.h"
#include "store/backend.h"

namespace outbox::cli {

// Used by one thread.
class Supervisor {
 public:
  struct Options {
    store::ProcessInfo process;
    bool cleaners = false;
    // Called before a signal ends the process, while nothing runs yet.
    std::function<void()> interrupted = [] {};
  };

  // Starts everything, or nothing. A relay that is paused starts paused. `signals` outlives the
  // supervisor. A signal that comes before the first relay runs ends the process with 0; one that
  // comes later ends Run as soon as it begins, and a second one the process.
  static Result<std::unique_ptr<Supervisor>> Start(const CheckedConfig& checked,
                                                   const std::shared_ptr<RelayObserver>& observer,
                                                   const StopSignals& signals, Options options);

  struct Until {
    bool drained = false;                              // also end when nothing is left
    std::optional<std::chrono::milliseconds> timeout;  // and fail when it is not by then
    bool reader_gone = false;                          // also end when nobody reads our output
    std::function<void()> looking = [] {};             // called several times a second
    std::function<void()> ending = [] {};              // told before anything is stopped
  };

  // Blocks until a signal comes or `until` is met, then stops everything: no new claims, what is
  // being published is finished. A second signal ends the process at once.
  Status Run(const Until& until);

  // Pauses, or resumes, the relays of a table (its display name), or the one that serves `sink`, as
  // the database says already. Returns how many these are. Any thread.
  std::size_t Pause(std::string_view table, std::string_view sink, bool pause) const;

  // Of all relays together.
  RelayStats Totals() const;

 private:
  struct Running {
    std::string table;
    std::string display;      // of the table
    std::string destination;  // empty: the table's only sink
    bool single_active = false;
    bool paused = false;  // it was started so
    std::unique_ptr<Relay> relay;
  };

  explicit Supervisor(const StopSignals& signals) : signals_(signals) {}

  Status StartAll(const config::Config& config, OpenedParts parts,
                  const std::shared_ptr<RelayObserver>& observer, store::ProcessInfo process);
  Result<Running> StartRelay(OpenedRelay opened, const std::shared_ptr<RelayObserver>& observer);
  void StartSplit(OpenedSplit opened, const std::shared_ptr<RelayObserver>& observer);

  Status WaitForEnd(const Until& until, std::vector<std::future<Status>>& drains);
  void StartHeartbeat(std::unique_ptr<store::ControlStore> control, store::ProcessInfo process,
                      std::chrono::milliseconds interval,
                      const std::shared_ptr<RelayObserver>& observer);
  Status StopAll();
  // The second signal ends the process.
  void Await(std::vector<std::future<Status>>& stops);

  const StopSignals& signals_;
  bool told_to_stop_ = false;                                        // by a signal
  std::map<std::string, std::shared_ptr<relay::LaneBoard>> boards_;  // of tables with routes
  std::vector<Running> relays_;
  // They go before the relays they wake.
  std::vector<std::unique_ptr<relay::Splitter>> splitters_;
  std::vector<std::unique_ptr<relay::Cleaner>> cleaners_;
  std::unique_ptr<relay::Heartbeat> heartbeat_;  // goes before the relays it tells of
};

}  // namespace outbox::cli
