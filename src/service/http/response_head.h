// ResponseHead: status line and fields of an answer, with all that every answer has.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "service/http/response.h"

namespace outbox::service {

struct ResponseContext {
  bool http11 = true;
  bool keep_alive = true;
  bool tls = false;
  std::string_view request_id;
};

// Ends in the empty line. With a stream the body's end is the connection's.
std::string ResponseHead(const Response& response, const ResponseContext& context);

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string HttpDate(std::chrono::system_clock::time_point at);

}  // namespace outbox::service
