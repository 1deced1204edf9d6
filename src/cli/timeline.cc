#include "cli/timeline.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "cli/format.h"

namespace outbox::cli {
namespace {

using store::AttemptResult;

// To the millisecond, which leaves room for the rest.
std::string TimeOf(Timestamp at) { return base::FormatTimestamp(at).erase(23, 3); }

std::string EventOf(const store::Attempt& attempt) {
  const std::string name = base::StrCat("attempt ", attempt.attempt, ": ");
  if (attempt.result == AttemptResult::kNoOutcome) return name + "no outcome";
  return base::StrCat(name, ToString(attempt.result));
}

Style StyleOfResult(AttemptResult result) {
  switch (result) {
    case AttemptResult::kDelivered: return Style::kGood;
    case AttemptResult::kDead: return Style::kBad;
    case AttemptResult::kReleased: return Style::kPlain;
    case AttemptResult::kRetry:
    case AttemptResult::kNoOutcome: return Style::kWarn;
  }
  return Style::kPlain;
}

// Of the error's class, what the event does not say by itself.
std::string WhyOf(const store::Attempt& attempt) {
  const bool retryable = attempt.error_class == ToString(Disposition::kRetry);
  if (!retryable) return attempt.error_class;
  return attempt.result == AttemptResult::kDead ? "no attempt left" : "";
}

std::string ErrorOf(const store::Attempt& attempt) {
  if (attempt.result == AttemptResult::kNoOutcome) return "its relay crashed or lost its lease";
  const std::string why = WhyOf(attempt);
  return base::StrCat(why, why.empty() || attempt.error.empty() ? "" : ": ", attempt.error);
}

std::string TookOf(const store::Attempt& attempt) {
  return FormatSpan(
      std::chrono::duration_cast<std::chrono::milliseconds>(attempt.ended_at - attempt.started_at));
}

}  // namespace

Table Timeline(const store::StoredMessage& stored, std::span<const store::Attempt> attempts) {
  Table table({{.title = "TIME", .leave_out = 1},
               {.title = "EVENT"},
               {.title = "TOOK", .right = true, .leave_out = 3},
               {.title = "SINK", .cut = true, .leave_out = 2},
               {.title = "WORKER", .cut = true, .leave_out = 4},
               {.title = "ERROR", .cut = true, .width_least = 16}});
  if (attempts.empty()) return table;
  table.Add({TimeOf(stored.message.created_at), std::string("enqueued"), std::string(),
             std::string(), std::string(), std::string()});
  if (attempts.size() == store::kAttemptsShownMax) {
    table.Add({std::string("…"), std::string("earlier attempts are not shown"), std::string(),
               std::string(), std::string(), std::string()});
  }
  std::vector<store::Attempt> ordered(attempts.begin(), attempts.end());
  std::ranges::stable_sort(ordered, {}, &store::Attempt::started_at);
  for (const store::Attempt& attempt : ordered) {
    table.Add({TimeOf(attempt.started_at),
               {EventOf(attempt), StyleOfResult(attempt.result)},
               TookOf(attempt),
               attempt.destination,
               attempt.worker,
               ErrorOf(attempt)});
  }
  return table;
}

}  // namespace outbox::cli
