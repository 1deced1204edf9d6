// Health: whether this process serves its purpose, for load balancers and orchestrators.
//
//   GET /healthz   the process answers
//   GET /readyz    200 or 503, and why: the database answers, relays run or stand by, keys for
//                  tokens are there, nothing stands still, and it is not about to end
//
// A table stands still when a message has been due for long, and the relays of this process that
// should deliver it have been running for as long, are not waiting for their sink, and have settled
// nothing. What is due need not be for each of them: a relay that takes only some of a table's
// messages, by a filter or as one sink of several, stands still when its claims do not even come
// back. A sink that is down is told and is no reason to be taken out of service: the relay would be
// restarted for nothing.
//
// Threads: any number at once.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "service/api/relay_board.h"
#include "service/api/tables.h"
#include "service/http/router.h"

namespace outbox::service {

struct HealthOptions {
  std::chrono::milliseconds stalled_after{std::chrono::minutes(1)};
  std::set<std::string> limited;  // tables whose relays have a filter, as they are shown
};

// The relays of one table in this process.
struct RelaysOfTable {
  std::vector<RelaySeen> relays;
  bool limited = false;  // they have a filter
};

// True when no relay explains why work that is due is not done.
bool StandsStill(const store::TableStats& stats, const RelaysOfTable& table,
                 std::chrono::steady_clock::time_point since,
                 std::chrono::steady_clock::time_point now,
                 std::chrono::milliseconds stalled_after);

class Health {
 public:
  // All outlive it.
  Health(Tables& tables, const RelayBoard& board, std::function<bool()> keys_ready,
         HealthOptions options);

  struct Report {
    bool database = true;
    bool keys = true;
    bool stalled = false;
    bool stopping = false;
    std::string tables, relays;   // JSON
    Status cause = Status::Ok();  // the database's first error, for the log

    bool ready() const noexcept { return database && keys && !stalled && !stopping; }
    // Tables, their counts, relays and their errors are not for everybody.
    std::string Json(bool details) const;
  };
  // At most one question to the database a second, however often it is asked. Who comes while it is
  // asked waits a moment for the answer, then gets the last one.
  Report Check(Deadline deadline);

  // From now on it is not ready: the process is about to end.
  void BeginStop() noexcept { stopping_ = true; }

 private:
  using Clock = std::chrono::steady_clock;

  Report Look(Deadline deadline) const;

  Tables& tables_;
  const RelayBoard& board_;
  const std::function<bool()> keys_ready_;
  const HealthOptions options_;
  const Clock::time_point started_ = Clock::now();

  std::atomic<bool> stopping_ = false;

  std::mutex mutex_;
  std::condition_variable looked_;
  std::optional<Report> last_;     // guarded by mutex_
  Clock::time_point looked_at_{};  // guarded by mutex_
  bool looking_ = false;           // guarded by mutex_
};

// `health` outlives the router. `may_see` says who is told the details.
void AddHealth(Router& router, Health& health, std::function<bool(const Request&)> may_see);

}  // namespace outbox::service
