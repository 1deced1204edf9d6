#include "service/api/message_id.h"

#include "base/text.h"

namespace outbox::service {

Status NoSuchMessage() {
  return Status::Permanent(Code::kNotFound, "There is no message with this id.");
}

Result<Uuid> MessageId(const Request& request) {
  const auto id = Uuid::Parse(request.Param("id"));
  if (!id) return NoSuchMessage();
  return *id;
}

Status RepairStatus(const store::RepairResult& result, std::string_view verb,
                    std::string_view states, const store::StoredMessage* before) {
  using Outcome = store::RepairResult::Outcome;
  switch (result.outcome) {
    case Outcome::kDone: return Status::Ok();
    case Outcome::kNotFound: return NoSuchMessage();
    case Outcome::kRefused: break;
  }
  const bool failed =
      result.status == MessageStatus::kPending && before != nullptr && before->message.attempt > 0;
  const std::string_view found = failed ? "failed" : result.status ? ToString(*result.status) : "";
  // A state that would do: somebody else holds the row.
  if (states.find(found) != std::string_view::npos) {
    return Status::Permanent(
        Code::kConflict,
        base::StrCat("The message is in use just now and was not ", verb, "; try again."));
  }
  const std::string until =
      result.locked_until
          ? base::StrCat(" Its lease runs until ", base::FormatTimestamp(*result.locked_until), ".")
          : "";
  return Status::Permanent(
      Code::kConflict,
      base::StrCat("The message is ", found, "; only ", states, " ones can be ", verb, ".", until));
}

store::StoredMessage Retried(store::InspectStore& session, const store::Scope& scope,
                             const store::StoredMessage& before, Deadline deadline) {
  const auto now = session.Get(scope, before.message.id, deadline);
  if (now.ok() && *now) return **now;
  store::StoredMessage row = before;
  row.status = MessageStatus::kPending;
  row.message.attempt = 0;
  row.locked_by.clear();
  row.locked_until.reset();
  row.processed_at.reset();
  return row;
}

}  // namespace outbox::service
