#include "sink/decorate/circuit_breaker.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "message/hide_payload.h"
#include "sink/decorate/decorator.h"

namespace outbox::sink {
namespace {

// How long a trial may take beyond its deadline, and how far away that counts at most.
constexpr std::chrono::seconds kTrialGrace{1};
constexpr std::chrono::hours kTrialMax{1};

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
    case Code::kCancelled:
    case Code::kNotAttempted: return Outcome::kSaysNothing;
    default: return Outcome::kWorks;
  }
}

}  // namespace

class Circuit {
 public:
  Circuit(std::size_t failures_max, Clock::Duration cooldown, Clock& clock)
      : failures_max_(failures_max), cooldown_(cooldown), clock_(clock) {}

  enum class Pass { kAll, kTrial, kNone };
  struct Answer {
    Pass pass = Pass::kNone;
    std::uint64_t trial = 0;  // its number
  };

  // A kTrial should be followed by EndTrial.
  Answer Ask(Deadline deadline) {
    const std::lock_guard lock(mutex_);
    if (!open_) return {Pass::kAll};
    const Clock::TimePoint now = clock_.Now();
    if (now < NextTrial()) return {Pass::kNone};
    trial_ends_ = std::min(deadline.at(), now + kTrialMax) + kTrialGrace;
    return {Pass::kTrial, ++trials_};
  }

  // True when a trial would be let through, or none is needed.
  bool MayPass() const {
    const std::lock_guard lock(mutex_);
    return !open_ || clock_.Now() >= NextTrial();
  }

  void EndTrial(std::uint64_t trial, bool works) {
    const std::lock_guard lock(mutex_);
    if (trial != trials_) return;  // it came too late: another has begun
    trial_ends_.reset();
    if (works) {
      open_ = false;
      failures_ = 0;
    } else {
      until_ = clock_.Now() + cooldown_;
    }
  }

  void Count(std::span<const Message> batch, std::span<const Status> results) {
    const std::lock_guard lock(mutex_);
    std::optional<std::size_t> last;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Outcome outcome = Judge(results[i]);
      if (outcome == Outcome::kWorks) failures_ = 0;
      if (outcome != Outcome::kFails) continue;
      last = i;
      if (++failures_ >= failures_max_ && !open_) {
        open_ = true;
        until_ = clock_.Now() + cooldown_;
      }
    }
    // The text will be told of other messages.
    if (last) last_failure_ = message::HidePayloads(results[*last].message(), batch);
  }

  Status Refusal() const {
    const std::lock_guard lock(mutex_);
    return Status::SinkDown(base::StrCat("the circuit is open after ", failures_,
                                         " failures in a row, the last: ", last_failure_))
        .WithHint("it is tried again by itself");
  }

 private:
  // A trial that does not come back has failed when its time is over.
  Clock::TimePoint NextTrial() const { return trial_ends_ ? *trial_ends_ + cooldown_ : until_; }

  const std::size_t failures_max_;
  const Clock::Duration cooldown_;
  Clock& clock_;

  mutable std::mutex mutex_;
  std::size_t failures_ = 0;  // in a row
  std::string last_failure_;
  bool open_ = false;
  Clock::TimePoint until_{};
  std::uint64_t trials_ = 0;
  std::optional<Clock::TimePoint> trial_ends_;  // of the one under way
};

namespace {

class CircuitBreakerSink final : public Decorator {
 public:
  CircuitBreakerSink(std::shared_ptr<Sink> inner, std::shared_ptr<Circuit> circuit)
      : Decorator(std::move(inner)), circuit_(std::move(circuit)) {}

  Status Open(Deadline deadline) override {
    return circuit_->MayPass() ? inner().Open(deadline) : circuit_->Refusal();
  }

  void Publish(std::span<const Message> batch, std::span<Status> results,
               Deadline deadline) override {
    if (batch.empty()) return;
    const Circuit::Answer answer = circuit_->Ask(deadline);
    switch (answer.pass) {
      case Circuit::Pass::kAll: PassOn(batch, results, deadline); return;
      case Circuit::Pass::kNone: Refuse(results); return;
      case Circuit::Pass::kTrial: break;
    }
    if (!Try(answer.trial, batch.first(1), results.first(1), deadline)) {
      Refuse(results.subspan(1));
    } else if (batch.size() > 1) {
      PassOn(batch.subspan(1), results.subspan(1), deadline);
    }
  }

 private:
  void Refuse(std::span<Status> results) const {
    std::fill(results.begin(), results.end(), circuit_->Refusal());
  }

  void PassOn(std::span<const Message> batch, std::span<Status> results, Deadline deadline) {
    try {
      inner().Publish(batch, results, deadline);
    } catch (...) {
      CountThrown(batch, results);
      throw;
    }
    circuit_->Count(batch, results);
  }

  // The results it gave, and the exception once, where it most likely was.
  void CountThrown(std::span<const Message> batch, std::span<const Status> results) {
    std::vector<Status> counted(results.begin(), results.end());
    const auto where = std::find_if(counted.begin(), counted.end(), [](const Status& result) {
      return result.code() == Code::kNotAttempted;
    });
    const Status thrown = Status::Retry(Code::kInternal, "the sink threw an exception");
    if (where != counted.end()) *where = thrown;
    circuit_->Count(batch, counted);
    if (where == counted.end()) circuit_->Count(batch.last(1), std::span(&thrown, 1));
  }

  bool Try(std::uint64_t number, std::span<const Message> one, std::span<Status> result,
           Deadline deadline) {
    // Also when the inner sink throws, the next trial must be possible.
    struct Trial {
      Circuit& circuit;
      std::uint64_t number;
      bool works = false;
      ~Trial() { circuit.EndTrial(number, works); }
    } trial{*circuit_, number};
    PassOn(one, result, deadline);
    trial.works = Judge(result[0]) == Outcome::kWorks;
    return trial.works;
  }

  const std::shared_ptr<Circuit> circuit_;
};

}  // namespace

std::shared_ptr<Circuit> MakeCircuit(std::size_t failures, Clock::Duration cooldown, Clock& clock) {
  OUTBOX_CHECK(failures > 0);
  return std::make_shared<Circuit>(failures, cooldown, clock);
}

std::shared_ptr<Sink> CircuitBreaker(std::shared_ptr<Sink> sink, std::shared_ptr<Circuit> circuit) {
  return std::make_shared<CircuitBreakerSink>(std::move(sink), std::move(circuit));
}

}  // namespace outbox::sink
