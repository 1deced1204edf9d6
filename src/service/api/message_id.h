// What endpoints about one message have in common: its id in the path, and what a repair answers.
#pragma once

#include <string_view>

#include "outbox/status.h"
#include "outbox/uuid.h"
#include "service/http/request.h"
#include "store/inspect_store.h"

namespace outbox::service {

// "{id}" of the path. What is no UUID is the id of nothing: kNotFound.
Result<Uuid> MessageId(const Request& request);

// The same for a message of another tenant and for none.
Status NoSuchMessage();

// OK when it was done; kNotFound; kConflict that names the state and those that would do. `before`
// is how the message was found, where it tells a failed one from one that was never tried.
Status RepairStatus(const store::RepairResult& result, std::string_view verb,
                    std::string_view states, const store::StoredMessage* before = nullptr);

// The message after a retry that was done. It may be delivered and gone by then, and that does not
// make the retry a failure: then it is told as the retry left it. `before` is how it was found.
store::StoredMessage Retried(store::InspectStore& session, const store::Scope& scope,
                             const store::StoredMessage& before, Deadline deadline);

}  // namespace outbox::service
