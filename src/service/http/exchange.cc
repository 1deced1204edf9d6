#include "service/http/exchange.h"

#include <exception>

#include "base/text.h"
#include "service/http/cors.h"
#include "service/http/problem.h"
#include "service/http/request_id.h"

namespace outbox::service {

void FindRoute(const Router& router, const Cors& cors, Exchange& exchange) {
  const RequestHead& head = exchange.parser.head();
  exchange.match = router.Match(head.method, head.segments);
  if (exchange.match.route != nullptr) return;
  const std::vector<Method>& allowed = exchange.match.allowed;
  Response response;
  if (allowed.empty()) {
    response = Problem(404, "not_found", "Not found", "There is nothing at this path.");
  } else if (head.method == Method::kOptions) {
    response.status = 204;
    if (cors.IsPreflight(head.method, head.headers)) {
      cors.AllowPreflight(allowed, head.headers, response.headers);
    }
  } else {
    response = Problem(405, "method_not_allowed", "Method not allowed",
                       "See the Allow field for the methods of this path.");
  }
  if (!allowed.empty()) response.headers.emplace_back("Allow", AllowText(allowed));
  exchange.Answer(std::move(response));
}

Response CallHandler(const Handler& handler, const Request& request) noexcept {
  try {
    return handler(request);
  } catch (const std::exception& thrown) {
    return ProblemOf(
        Status::Permanent(Code::kInternal, base::StrCat("the handler threw: ", thrown.what())));
  } catch (...) {
    return ProblemOf(Status::Permanent(Code::kInternal, "the handler threw"));
  }
}

}  // namespace outbox::service
