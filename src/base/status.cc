#include "outbox/status.h"

#include <cstdio>
#include <cstdlib>

#include "base/printable.h"

namespace outbox {

std::string_view ToString(Code code) noexcept {
  switch (code) {
    case Code::kOk: return "ok";
    case Code::kInvalidArgument: return "invalid_argument";
    case Code::kNoTransaction: return "no_transaction";
    case Code::kTransactionAborted: return "transaction_aborted";
    case Code::kBusy: return "busy";
    case Code::kNotFound: return "not_found";
    case Code::kSchema: return "schema";
    case Code::kPermission: return "permission";
    case Code::kUnavailable: return "unavailable";
    case Code::kDeadline: return "deadline";
    case Code::kRejected: return "rejected";
    case Code::kConflict: return "conflict";
    case Code::kCancelled: return "cancelled";
    case Code::kNotAttempted: return "not_attempted";
    case Code::kInternal: return "internal";
  }
  return "unknown";
}

std::string_view ToString(Disposition disposition) noexcept {
  switch (disposition) {
    case Disposition::kNone: return "none";
    case Disposition::kRetry: return "retry";
    case Disposition::kPermanent: return "permanent";
    case Disposition::kInDoubt: return "in_doubt";
    case Disposition::kSinkDown: return "sink_down";
  }
  return "unknown";
}

std::string Status::ToString() const {
  if (ok()) return "ok";
  return native_.empty() ? message_ : message_ + " (" + native_ + ")";
}

void AbortOnMissingValue(const Status& status) noexcept {
  std::fprintf(stderr, "outbox: a failed Result was read without being checked: %s\n",
               base::Harmless(status.message()).c_str());
  std::abort();
}

}  // namespace outbox
