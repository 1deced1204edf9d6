// Problem: errors as application/problem+json (RFC 9457).
//
//   {"type":"urn:outboxd:problem:not_found","title":"Not found","status":404,
//    "detail":"There is no message with this id.","code":"not_found","instance":"<request id>"}
//
// `code` is stable and for programs; `title` belongs to the code; `detail` is for people and about
// this request. The server adds `instance`.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "outbox/status.h"
#include "service/http/response.h"

namespace outbox::service {

inline constexpr std::string_view kProblemType = "application/problem+json";

// Further members: a name and JSON text.
using ProblemMembers = std::vector<std::pair<std::string, std::string>>;

Response Problem(int status, std::string_view code, std::string_view title, std::string_view detail,
                 const ProblemMembers& members = {});

// What a failed Status is to a client: invalid 400, permission 403, not found 404, conflict 409,
// unavailable 503, deadline 504, anything else 500. Only 400, 404 and 409 tell the status's own
// message and hint; the others are about our side, and have the status as their `cause`.
// What a database said (it has a native code) is about our side too, unless it is about the input:
// a right, a table, a lock is none of the client's.
Response ProblemOf(const Status& status);

// 429, 503 and the like with Retry-After in whole seconds, rounded up.
Response RetryAfter(Response response, std::chrono::milliseconds wait);
Response TooManyRequests(std::chrono::milliseconds wait);

// Adds "instance" to a problem; leaves other answers alone. The server's.
void SetInstance(Response& response, std::string_view request_id);

}  // namespace outbox::service
