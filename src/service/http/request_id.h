// RequestId: what a request is called in its answer, in the log and in problems.
#pragma once

#include <string>
#include <string_view>

namespace outbox::service {

// `offered`, the client's X-Request-Id, when it has 1 to 64 letters, digits, '.', '_' or '-'; a new
// UUID otherwise.
std::string RequestId(std::string_view offered);

}  // namespace outbox::service
