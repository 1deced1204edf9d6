#include "service/http/problem.h"

#include <algorithm>

#include "base/json_object.h"
#include "base/text.h"

namespace outbox::service {

Response Problem(int status, std::string_view code, std::string_view title, std::string_view detail,
                 const ProblemMembers& members) {
  base::JsonObject json;
  json.Add("type", base::StrCat("urn:outboxd:problem:", code))
      .Add("title", title)
      .Add("status", status)
      .AddUnlessEmpty("detail", detail)
      .Add("code", code);
  for (const auto& [name, value] : members) json.AddRaw(name, value);
  return {.status = status, .content_type = std::string(kProblemType), .body = json.Finish()};
}

namespace {

Response InternalError() { return Problem(500, "internal_error", "Internal error", ""); }

Response Unavailable(const Status& status) {
  return RetryAfter(Problem(503, "unavailable", "Not available now", ""),
                    status.retry_after().value_or(std::chrono::seconds(1)));
}

Response WithoutCause(const Status& status) {
  const std::string detail = status.hint().empty()
                                 ? status.message()
                                 : base::StrCat(status.message(), ". ", status.hint());
  const bool of_database = !status.native().empty();
  switch (status.code()) {
    case Code::kInvalidArgument:
      return Problem(400, "invalid_request", "The request is not valid", detail);
    case Code::kPermission:
      return of_database ? InternalError() : Problem(403, "forbidden", "Not allowed", "");
    case Code::kNotFound:
      return of_database ? InternalError() : Problem(404, "not_found", "Not found", detail);
    case Code::kConflict:
      if (!of_database) {
        return Problem(409, "conflict", "Not possible in the present state", detail);
      }
      return status.disposition() == Disposition::kRetry ? Unavailable(status) : InternalError();
    case Code::kUnavailable: return Unavailable(status);
    case Code::kDeadline:
      return Problem(504, "timeout", "It took too long",
                     "The request was given up; it may have had its effect.");
    default: return InternalError();
  }
}

}  // namespace

Response ProblemOf(const Status& status) {
  Response response = WithoutCause(status);
  if (response.status >= 500) response.cause = status;
  return response;
}

Response RetryAfter(Response response, std::chrono::milliseconds wait) {
  const auto seconds =
      std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(wait).count());
  response.headers.emplace_back("Retry-After", std::to_string(seconds));
  return response;
}

Response TooManyRequests(std::chrono::milliseconds wait) {
  return RetryAfter(Problem(429, "rate_limited", "Too many requests",
                            "Wait for as long as Retry-After says, then try again."),
                    wait);
}

void SetInstance(Response& response, std::string_view request_id) {
  if (response.content_type != kProblemType || !response.body.ends_with('}')) return;
  response.body.pop_back();
  response.body += base::StrCat(",\"instance\":", base::JsonQuote(request_id), "}");
}

}  // namespace outbox::service
