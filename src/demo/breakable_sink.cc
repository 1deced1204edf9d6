#include "demo/breakable_sink.h"

namespace outbox::demo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kRefusedShare = 0.4;
constexpr double kForgottenShare = 0.3;

}  // namespace

std::string_view ToString(SinkCondition condition) noexcept {
  switch (condition) {
    case SinkCondition::kWorking: return "working";
    case SinkCondition::kDown: return "down";
    case SinkCondition::kRefusing: return "refusing";
    case SinkCondition::kForgetful: return "forgetful";
  }
  return "?";
}

std::optional<Clock::duration> BreakableSink::SinceLastProbe() const {
  if (probes_ == 0) return std::nullopt;
  return Clock::now().time_since_epoch() - Clock::duration(last_probe_.load());
}

Status BreakableSink::Probe() {
  if (condition_ != SinkCondition::kDown) return Status::Ok();
  last_probe_ = Clock::now().time_since_epoch().count();
  ++probes_;
  return Status::SinkDown("the sink does not answer");
}

Status BreakableSink::Open(Deadline) { return Probe(); }

void BreakableSink::Publish(std::span<const Message> batch, std::span<Status> results, Deadline) {
  const Status down = Probe();
  for (std::size_t i = 0; i < batch.size(); ++i) results[i] = down.ok() ? Judge(batch[i]) : down;
}

Status BreakableSink::Judge(const Message& message) {
  if (poison_wanted_ > 0 && message.attempt == 1) {
    --poison_wanted_;
    ledger_.OnFailed(message, "refused for good");
    return Status::Permanent(Code::kRejected, "the sink refuses this message for good");
  }
  const SinkCondition condition = condition_;
  if (condition == SinkCondition::kRefusing && random_.Unit() < kRefusedShare) {
    ledger_.OnFailed(message, "refused");
    return Status::Retry(Code::kRejected, "the sink refused it this time");
  }
  if (condition == SinkCondition::kForgetful && random_.Unit() < kForgottenShare) {
    ledger_.OnAnswerLost(message);
    return Status::InDoubt(Code::kUnavailable, "the sink's answer got lost");
  }
  ledger_.OnDelivered(message);
  return Status::Ok();
}

}  // namespace outbox::demo
