#include "sink/decorate/circuit_breaker.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "sink/decorate/decorator.h"

namespace outbox::sink {
namespace {

enum class Outcome { kWorks, kFails, kSaysNothing };

Outcome Judge(const Status& status) {
  switch (status.disposition()) {
    case Disposition::kNone:
    case Disposition::kPermanent: return Outcome::kWorks;
    case Disposition::kSinkDown: return Outcome::kSaysNothing;
    case Disposition::kRetry:
    case Disposition::kInDoubt: break;
  }
  switch (status.code()) {
    case Code::kUnavailable:
    case Code::kDeadline:
    case Code::kInternal: return Outcome::kFails;
    case Code::kCancelled: return Outcome::kSaysNothing;  // not attempted
    default: return Outcome::kWorks;
  }
}

// Whether calls may pass. Threads: all methods may be called from any.
class Circuit {
 public:
  Circuit(std::size_t failures_max, Clock::Duration cooldown, Clock& clock)
      : failures_max_(failures_max), cooldown_(cooldown), clock_(clock) {}

  enum class Pass { kAll, kTrial, kNone };

  // A kTrial must be followed by EndTrial.
  Pass Ask() {
    const std::lock_guard lock(mutex_);
    if (!open_) return Pass::kAll;
    if (trial_ || clock_.Now() < until_) return Pass::kNone;
    trial_ = true;
    return Pass::kTrial;
  }

  // True when a trial would be let through, or none is needed.
  bool MayPass() const {
    const std::lock_guard lock(mutex_);
    return !open_ || (!trial_ && clock_.Now() >= until_);
  }

  void EndTrial(bool works) {
    const std::lock_guard lock(mutex_);
    trial_ = false;
    if (works) {
      open_ = false;
      failures_ = 0;
    } else {
      until_ = clock_.Now() + cooldown_;
    }
  }

  void Count(std::span<const Status> results) {
    const std::lock_guard lock(mutex_);
    for (const Status& status : results) {
      const Outcome outcome = Judge(status);
      if (outcome == Outcome::kWorks) failures_ = 0;
      if (outcome != Outcome::kFails) continue;
      last_failure_ = status.message();
      if (++failures_ >= failures_max_ && !open_) {
        open_ = true;
        until_ = clock_.Now() + cooldown_;
      }
    }
  }

  Status Refusal() const {
    const std::lock_guard lock(mutex_);
    return Status::SinkDown(base::StrCat("the circuit is open after ", failures_,
                                         " failures in a row, the last: ", last_failure_))
        .WithHint("it is tried again by itself");
  }

 private:
  const std::size_t failures_max_;
  const Clock::Duration cooldown_;
  Clock& clock_;

  mutable std::mutex mutex_;
  std::size_t failures_ = 0;  // in a row
  std::string last_failure_;
  bool open_ = false;
  bool trial_ = false;  // one is under way
  Clock::TimePoint until_{};
};

class CircuitBreakerSink final : public Decorator {
 public:
  CircuitBreakerSink(std::shared_ptr<Sink> inner, std::size_t failures, Clock::Duration cooldown,
                     Clock& clock)
      : Decorator(std::move(inner)), circuit_(failures, cooldown, clock) {}

  Status Open(Deadline deadline) override {
    return circuit_.MayPass() ? inner().Open(deadline) : circuit_.Refusal();
  }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    if (batch.empty()) return;
    switch (circuit_.Ask()) {
      case Circuit::Pass::kAll: PassOn(batch, results, deadline); return;
      case Circuit::Pass::kNone: Refuse(results); return;
      case Circuit::Pass::kTrial: break;
    }
    if (!Try(batch.first(1), results.first(1), deadline)) {
      Refuse(results.subspan(1));
    } else if (batch.size() > 1) {
      PassOn(batch.subspan(1), results.subspan(1), deadline);
    }
  }

 private:
  void Refuse(std::span<Status> results) const {
    std::fill(results.begin(), results.end(), circuit_.Refusal());
  }

  void PassOn(std::span<const Message> batch, std::span<Status> results, Deadline deadline) {
    try {
      inner().Publish(batch, results, deadline);
    } catch (...) {
      const Status thrown = Status::Retry(Code::kInternal, "the sink threw an exception");
      for (std::size_t i = 0; i < batch.size(); ++i) circuit_.Count({&thrown, 1});
      throw;
    }
    circuit_.Count(results);
  }

  bool Try(std::span<const Message> one, std::span<Status> result, Deadline deadline) {
    // Also when the inner sink throws, the next trial must be possible.
    struct Trial {
      Circuit& circuit;
      bool works = false;
      ~Trial() { circuit.EndTrial(works); }
    } trial{circuit_};
    PassOn(one, result, deadline);
    trial.works = Judge(result[0]) == Outcome::kWorks;
    return trial.works;
  }

  Circuit circuit_;
};

}  // namespace

std::shared_ptr<Sink> CircuitBreaker(std::shared_ptr<Sink> sink, std::size_t failures,
                                     Clock::Duration cooldown, Clock& clock) {
  OUTBOX_CHECK(failures > 0);
  return std::make_shared<CircuitBreakerSink>(std::move(sink), failures, cooldown, clock);
}

}  // namespace outbox::sink
