#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/text.h"
#include "outbox/enqueue.h"

namespace outbox {
namespace {

constexpr std::size_t kFailureBytesMax = 300;

// What the server says about an enqueue, for the application that holds the transaction.
struct Answer {
  std::string_view prefix;  // of the SQLSTATE: two characters are a class, five are one state
  Code code;
  Disposition disposition;
  std::string_view hint;
};

constexpr std::string_view kMigrateHint = "create it with: outboxd migrate up --table TABLE";
constexpr std::string_view kSchemaHint =
    "the table is not an outbox table; see outboxd migrate status";
constexpr std::string_view kConstraintHint =
    "the constraint named in the message says what is wrong";
constexpr std::string_view kReconnectHint =
    "open a new connection and run the whole transaction again";
constexpr std::string_view kAgainHint = "roll back and run the whole transaction again";

// A single state stands before its class: the first match counts.
constexpr std::array kAnswers{
    Answer{"08", Code::kUnavailable, Disposition::kInDoubt, kReconnectHint},
    Answer{"22", Code::kInvalidArgument, Disposition::kPermanent, kConstraintHint},
    // Also a column this library does not know and so leaves out.
    Answer{"23502", Code::kSchema, Disposition::kPermanent, kSchemaHint},
    Answer{"23", Code::kInvalidArgument, Disposition::kPermanent, kConstraintHint},
    Answer{"25006", Code::kUnavailable, Disposition::kRetry,
           "the transaction or the server is read-only: begin with READ WRITE, on the primary"},
    Answer{"25P02", Code::kTransactionAborted, Disposition::kPermanent,
           "roll back and start again"},
    Answer{"3F", Code::kNotFound, Disposition::kPermanent, kMigrateHint},
    Answer{"40", Code::kConflict, Disposition::kRetry, kAgainHint},
    Answer{"42501", Code::kPermission, Disposition::kPermanent,
           "GRANT outbox_producer to the role that enqueues"},
    Answer{"42P01", Code::kNotFound, Disposition::kPermanent, kMigrateHint},
    Answer{"42", Code::kSchema, Disposition::kPermanent, kSchemaHint},
    Answer{"53100", Code::kUnavailable, Disposition::kRetry,
           "the server's disk is full: free space, then run the whole transaction again"},
    Answer{"53", Code::kUnavailable, Disposition::kRetry,
           "the server lacks memory or connections; run the whole transaction again later"},
    Answer{"54", Code::kInvalidArgument, Disposition::kPermanent, "send less at once"},
    Answer{"55", Code::kConflict, Disposition::kRetry,
           "a lock was not free in time (lock_timeout); run the whole transaction again"},
    Answer{"57014", Code::kDeadline, Disposition::kRetry,
           "it was cancelled or ran into statement_timeout; run the whole transaction again"},
    Answer{"57", Code::kUnavailable, Disposition::kInDoubt, kReconnectHint},
    Answer{"58", Code::kUnavailable, Disposition::kRetry, "see the server's log"},
    Answer{"P0", Code::kInvalidArgument, Disposition::kPermanent, kConstraintHint},
    Answer{"XX", Code::kInternal, Disposition::kRetry, "see the server's log"},
};
constexpr Answer kOtherAnswer{"", Code::kInternal, Disposition::kRetry, kAgainHint};

const Answer& AnswerFor(std::string_view state) {
  const auto* const found =
      std::find_if(kAnswers.begin(), kAnswers.end(),
                   [&](const Answer& answer) { return state.starts_with(answer.prefix); });
  return found == kAnswers.end() ? kOtherAnswer : *found;
}

}  // namespace

Status PostgresFailure(std::string_view sqlstate, std::string_view message, std::string_view hint) {
  const Answer& answer = AnswerFor(sqlstate);
  // The table's own rules say what they ask for.
  const bool rule = answer.code == Code::kInvalidArgument && !hint.empty();
  return Status(answer.code, answer.disposition,
                base::StrCat("enqueue: ", base::CleanError(message, kFailureBytesMax)))
      .WithHint(rule ? base::CleanError(hint, kFailureBytesMax) : std::string(answer.hint))
      .WithNative(base::CleanError(sqlstate, kFailureBytesMax));
}

}  // namespace outbox
