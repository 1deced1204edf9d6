#include "store/attempt.h"

#include <array>

namespace outbox::store {
namespace {

constexpr std::array kResults{AttemptResult::kDelivered, AttemptResult::kRetry,
                              AttemptResult::kDead, AttemptResult::kReleased,
                              AttemptResult::kNoOutcome};

}  // namespace

std::string_view ToString(AttemptResult result) noexcept {
  switch (result) {
    case AttemptResult::kDelivered: return "delivered";
    case AttemptResult::kRetry: return "retry";
    case AttemptResult::kDead: return "dead";
    case AttemptResult::kReleased: return "released";
    case AttemptResult::kNoOutcome: return "no_outcome";
  }
  return "unknown";
}

std::optional<AttemptResult> ParseAttemptResult(std::string_view text) noexcept {
  for (const AttemptResult result : kResults) {
    if (ToString(result) == text) return result;
  }
  return std::nullopt;
}

AttemptResult ResultOf(Outcome::Kind kind) noexcept {
  switch (kind) {
    case Outcome::Kind::kDelivered: return AttemptResult::kDelivered;
    case Outcome::Kind::kRetry: return AttemptResult::kRetry;
    case Outcome::Kind::kDead: return AttemptResult::kDead;
    case Outcome::Kind::kReleased: return AttemptResult::kReleased;
  }
  return AttemptResult::kNoOutcome;
}

bool IsNoted(AttemptHistory history, const Outcome& outcome) noexcept {
  if (history == AttemptHistory::kOff) return false;
  return history == AttemptHistory::kAll || outcome.kind == Outcome::Kind::kRetry ||
         outcome.kind == Outcome::Kind::kDead || outcome.error_class != Disposition::kNone;
}

std::string_view WorkerOf(std::string_view token) noexcept {
  return token.substr(0, token.rfind('/'));
}

}  // namespace outbox::store
