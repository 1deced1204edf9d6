#include "service/api/store_error.h"

namespace outbox::service {
namespace {

Code OurCode(const Status& error) {
  switch (error.code()) {
    case Code::kOk:
    case Code::kInvalidArgument:
    case Code::kUnavailable:
    case Code::kDeadline: return error.code();
    // Tables that an older installation lacks, and changes that do not go together, are told by the
    // store itself; a column by the database.
    case Code::kSchema: return error.native().empty() ? Code::kSchema : Code::kInternal;
    case Code::kConflict:
      if (error.disposition() == Disposition::kRetry) return Code::kUnavailable;
      return error.native().empty() ? Code::kConflict : Code::kInternal;
    default: return Code::kInternal;
  }
}

}  // namespace

Status FromStore(const Status& error) {
  const Code code = OurCode(error);
  if (code == error.code()) return error;
  return Status(code, error.disposition(), error.message())
      .WithHint(error.hint())
      .WithNative(error.native());
}

}  // namespace outbox::service
