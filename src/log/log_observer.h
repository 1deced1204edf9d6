// LogObserver: what relays and cleaners do, as log lines with the fields table, sink (in a table
// with routes), topic, event_id, tenant_id, seq and attempts.
//
//   error  a message is dead
//
//   warn   messages had no route, a dispatch failed, a lease was lost, the sink is down, the
//          database is away
//
//   info   state and leader changes, notices, what the cleaner removed
//
//   debug  claims, settles, single deliveries; dispatches refused by a sink that is down
//
// Never a payload; errors are cleaned of secrets and cut. A database error that repeats is written
// once in kRepeatAfter, with the number of those left out.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "log/logger.h"
#include "outbox/observer.h"

namespace outbox::log {

class LogObserver final : public RelayObserver {
 public:
  static constexpr std::chrono::seconds kRepeatAfter{30};
  static constexpr std::size_t kErrorBytesMax = 2048;

  explicit LogObserver(std::shared_ptr<const Logger> logger) : logger_(std::move(logger)) {}

  void OnStateChanged(std::string_view relay, RelayState state, std::string_view why) override;
  void OnLeaderChanged(std::string_view relay, bool leading) override;
  void OnClaimed(std::string_view relay, std::size_t count, Duration took) override;
  void OnPublished(const Message& message, const Status& result, Duration took) override;
  void OnSettled(std::string_view relay, const SettleCounts& counts, Duration took) override;
  void OnDead(const Message& message, const Status& result) override;
  void OnLeaseLost(const Message& message) override;
  void OnSplit(std::string_view table, std::size_t messages, std::size_t deliveries,
               std::size_t unrouted, Duration took) override;
  void OnStoreError(std::string_view relay, std::string_view operation, const Status& error,
                    Duration retry_in) override;
  void OnPurged(std::string_view table, const PurgeCounts& counts, Duration took) override;
  void OnNotice(std::string_view relay, std::string_view text) override;

 private:
  struct Repeated {
    std::chrono::steady_clock::time_point written;
    std::int64_t left_out = 0;
  };

  // How many identical lines were left out before this one; no value: leave this one out too.
  std::optional<std::int64_t> Admit(const std::string& what);

  const std::shared_ptr<const Logger> logger_;
  std::mutex mutex_;
  std::map<std::string, Repeated> repeated_;
};

}  // namespace outbox::log
