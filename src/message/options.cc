#include "outbox/options.h"

#include "base/text.h"
#include "message/validate.h"
#include "outbox/observer.h"

namespace outbox {

using base::FormatDuration;
using base::StrCat;

namespace {

using std::chrono::milliseconds;

void CheckLongest(std::vector<std::string>& problems, std::string_view field, milliseconds value) {
  if (value <= kDurationMax) return;
  problems.push_back(StrCat(field, ": is longer than ", FormatDuration(kDurationMax)));
}

}  // namespace

std::string_view ToString(ClaimMode mode) noexcept {
  return mode == ClaimMode::kLease ? "lease" : "transaction";
}

std::string_view ToString(Completion completion) noexcept {
  return completion == Completion::kAll ? "all" : "any";
}

std::string_view ToString(AttemptHistory history) noexcept {
  switch (history) {
    case AttemptHistory::kOff: return "off";
    case AttemptHistory::kFailures: return "failures";
    case AttemptHistory::kAll: return "all";
  }
  return "unknown";
}

std::string_view ToString(RelayState state) noexcept {
  switch (state) {
    case RelayState::kStarting: return "starting";
    case RelayState::kRunning: return "running";
    case RelayState::kStandby: return "standby";
    case RelayState::kWaitingForSink: return "waiting_for_sink";
    case RelayState::kPaused: return "paused";
    case RelayState::kDraining: return "draining";
    case RelayState::kStopped: return "stopped";
  }
  return "unknown";
}

std::vector<std::string> RelayOptions::Problems() const {
  std::vector<std::string> problems;
  const auto require = [&](bool holds, std::string problem) {
    if (!holds) problems.push_back(std::move(problem));
  };
  require(!table.empty(), "table: is required");
  require(batch_size >= 1 && batch_size <= 10'000,
          StrCat("batch_size: ", batch_size, " is not between 1 and 10000"));
  require(window >= batch_size && window <= 1'000'000,
          StrCat("window: ", window, " is not between batch_size (", batch_size, ") and 1000000"));
  require(poll_min.count() >= 1, "poll_min: must be at least 1ms");
  require(poll_max >= poll_min, StrCat("poll_max: ", FormatDuration(poll_max),
                                       " is less than poll_min (", FormatDuration(poll_min), ")"));
  require(destination.empty() || claim_mode == ClaimMode::kLease,
          "claim: deliveries to several sinks are claimed by lease");
  if (claim_mode == ClaimMode::kLease) {
    require(lease >= std::chrono::seconds(1), "lease: must be at least 1s");
    require(poll_max <= lease / 3, StrCat("poll_interval: ", FormatDuration(poll_max),
                                          " is more than a third of the lease (",
                                          FormatDuration(lease), "); lower it or raise the lease"));
  }
  require(reconnect_max >= milliseconds(10), "reconnect_max: must be at least 10ms");
  require(dispatch_timeout.count() >= 1, "dispatch_timeout: must be at least 1ms");
  require(!retry.attempts_max || *retry.attempts_max >= 1, "max_attempts: must be at least 1");
  require(retry.base.count() >= 0, "retry.base: must not be negative");
  require(retry.cap >= retry.base, "retry.cap: is less than retry.base");
  require(probe_min.count() >= 1, "probe_min: must be at least 1ms");
  require(probe_max >= probe_min, "probe_max: is less than probe_min");
  require(last_error_bytes_max >= 16 && last_error_bytes_max <= 65'536,
          StrCat("last_error_max_bytes: ", last_error_bytes_max, " is not between 16 and 65536"));
  require(shutdown_timeout.count() >= 0, "shutdown_timeout: must not be negative");
  require(retention.count() >= 0, "retention: must not be negative");
  CheckLongest(problems, "lease", lease);
  CheckLongest(problems, "poll_min", poll_min);
  CheckLongest(problems, "poll_max", poll_max);
  CheckLongest(problems, "reconnect_max", reconnect_max);
  CheckLongest(problems, "dispatch_timeout", dispatch_timeout);
  CheckLongest(problems, "retry.base", retry.base);
  CheckLongest(problems, "retry.cap", retry.cap);
  CheckLongest(problems, "retry.jitter_max", retry.jitter_additive_max);
  for (const milliseconds wait : retry.schedule) CheckLongest(problems, "retry.schedule", wait);
  CheckLongest(problems, "probe_min", probe_min);
  CheckLongest(problems, "probe_max", probe_max);
  CheckLongest(problems, "retention", retention);
  CheckLongest(problems, "shutdown_timeout", shutdown_timeout);
  for (const std::string& pattern : filter.topics) {
    if (const Status status = message::ValidateTopicPattern(pattern); !status.ok()) {
      problems.push_back(StrCat("topics: ", status.message(), "; ", status.hint()));
    }
  }
  return problems;
}

std::vector<std::string> CleanerOptions::Problems() const {
  std::vector<std::string> problems;
  if (table.empty()) problems.push_back("table: is required");
  if (interval.count() < 1) problems.push_back("cleaner.interval: must be at least 1ms");
  if (batch_size < 1 || batch_size > 100'000) {
    problems.push_back(StrCat("cleaner.batch_size: ", batch_size, " is not between 1 and 100000"));
  }
  if (audit_retention.count() != 0 && audit_retention < kAuditRetentionMin) {
    problems.push_back("cleaner.audit_retention: must be 0 or at least 30d");
  }
  CheckLongest(problems, "cleaner.interval", interval);
  CheckLongest(problems, "cleaner.retention", retention);
  CheckLongest(problems, "cleaner.dead_retention", dead_retention);
  CheckLongest(problems, "cleaner.audit_retention", audit_retention);
  return problems;
}

}  // namespace outbox
