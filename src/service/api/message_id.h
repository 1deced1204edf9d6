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

// OK when it was done; kNotFound; kConflict that names the state and those that would do.
Status RepairStatus(const store::RepairResult& result, std::string_view verb,
                    std::string_view states);

}  // namespace outbox::service
