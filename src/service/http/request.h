// Request: one HTTP request, whole, as handlers see it.
//
// Owned by the server for the duration of the handler's call; a handler copies what it keeps.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "outbox/deadline.h"
#include "service/http/headers.h"
#include "service/http/method.h"
#include "service/http/query.h"

namespace outbox::service {

// The values of a route's "{name}" segments, decoded; never empty.
using PathParams = std::map<std::string, std::string, std::less<>>;

struct Request {
  Method method = Method::kGet;
  std::string path;   // as it was sent, without the query
  std::string route;  // the pattern that it matched
  Query query;
  PathParams params;
  Headers headers;
  std::string body;
  std::string remote;  // "127.0.0.1:1234", "[::1]:1234"; the peer of the connection
  std::string id;      // of this request: in its answer, the log and every problem
  Deadline deadline = Deadline::After({});

  // Case-insensitive; empty when there is none.
  std::string_view Header(std::string_view name) const noexcept { return headers.Find(name); }
  // A "{name}" of the route; empty when the route has none of that name.
  std::string_view Param(std::string_view name) const noexcept {
    const auto found = params.find(name);
    return found == params.end() ? std::string_view() : std::string_view(found->second);
  }
};

}  // namespace outbox::service
