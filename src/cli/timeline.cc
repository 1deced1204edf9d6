#include "cli/timeline.h"

#include <unistd.h>

#include "base/text.h"
#include "cli/format.h"
#include "cli/table.h"

namespace outbox::cli {
namespace {

using store::AttemptResult;

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

std::string ErrorOf(const store::Attempt& attempt) {
  if (attempt.result == AttemptResult::kNoOutcome) return "its relay crashed or lost its lease";
  if (attempt.error_class.empty()) return attempt.error;
  return base::StrCat(attempt.error_class, attempt.error.empty() ? "" : ": ", attempt.error);
}

std::string TookOf(const store::Attempt& attempt) {
  return FormatSpan(
      std::chrono::duration_cast<std::chrono::milliseconds>(attempt.ended_at - attempt.started_at));
}

}  // namespace

std::string Timeline(const store::StoredMessage& stored, std::span<const store::Attempt> attempts) {
  if (attempts.empty()) return {};
  Table table({{.title = "TIME"},
               {.title = "EVENT"},
               {.title = "TOOK", .right = true},
               {.title = "SINK"},
               {.title = "WORKER"},
               {.title = "ERROR", .cut = true}});
  table.Add({base::FormatTimestamp(stored.message.created_at), std::string("enqueued"),
             std::string(), std::string(), std::string(), std::string()});
  if (attempts.size() == store::kAttemptsShownMax) {
    table.Add({std::string("…"), std::string("earlier attempts are not shown"), std::string(),
               std::string(), std::string(), std::string()});
  }
  for (const store::Attempt& attempt : attempts) {
    table.Add({base::FormatTimestamp(attempt.started_at),
               {EventOf(attempt), StyleOfResult(attempt.result)},
               TookOf(attempt),
               attempt.destination,
               attempt.worker,
               ErrorOf(attempt)});
  }
  return table.For(STDOUT_FILENO);
}

}  // namespace outbox::cli
