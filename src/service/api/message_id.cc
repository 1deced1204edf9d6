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
                    std::string_view states) {
  using Outcome = store::RepairResult::Outcome;
  switch (result.outcome) {
    case Outcome::kDone: return Status::Ok();
    case Outcome::kNotFound: return NoSuchMessage();
    case Outcome::kRefused: break;
  }
  const std::string_view found = result.status ? ToString(*result.status) : "in use";
  return Status::Permanent(Code::kConflict, base::StrCat("The message is ", found, "; only ",
                                                         states, " ones can be ", verb, "."));
}

}  // namespace outbox::service
