// Health: whether this process serves its purpose, for load balancers and orchestrators.
//
//   GET /healthz   the process answers
//   GET /readyz    200 or 503, and why: the database answers, relays run or stand by, keys for
//                  tokens are there, and nothing stands still
//
// A table stands still when a message has been due for long, and the relays of this process that
// should deliver it have been running for as long, are not waiting for their sink, and have settled
// nothing. A sink that is down is told and is no reason to be taken out of service: the relay would
// be restarted for nothing.
//
// Threads: any number at once.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "service/api/relay_board.h"
#include "service/api/tables.h"
#include "service/http/router.h"

namespace outbox::service {

struct HealthOptions {
  std::chrono::milliseconds stalled_after{std::chrono::minutes(1)};
};

// True when no relay explains why work that is due is not done. `relays` are those of one table.
bool StandsStill(const store::TableStats& stats, const std::vector<RelaySeen>& relays,
                 std::chrono::steady_clock::time_point since,
                 std::chrono::steady_clock::time_point now,
                 std::chrono::milliseconds stalled_after);

class Health {
 public:
  // All outlive it.
  Health(Tables& tables, const RelayBoard& board, std::function<bool()> keys_ready,
         HealthOptions options);

  struct Report {
    bool ready = false;
    std::string json;
  };
  // At most one question to the database a second, however often it is asked.
  Report Check(Deadline deadline);

 private:
  using Clock = std::chrono::steady_clock;

  Report Look(Deadline deadline) const;

  Tables& tables_;
  const RelayBoard& board_;
  const std::function<bool()> keys_ready_;
  const HealthOptions options_;
  const Clock::time_point started_ = Clock::now();

  std::mutex mutex_;
  std::optional<Report> last_;     // guarded by mutex_
  Clock::time_point looked_at_{};  // guarded by mutex_
};

// `health` outlives the router.
void AddHealth(Router& router, Health& health);

}  // namespace outbox::service
