// Response: a handler's answer. The server adds what every answer has: length, date, request id,
// security headers (response_head.h).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "outbox/status.h"
#include "service/http/event_stream.h"

namespace outbox::service {

struct Response {
  int status = 200;
  std::string content_type;
  std::string body;
  // Beside those the server sets. Cache-Control and Content-Security-Policy replace the server's.
  // A field with a character that does not belong there is left out.
  std::vector<std::pair<std::string, std::string>> headers;
  // Events instead of a body; status and content type are the server's then.
  std::shared_ptr<EventStream> stream;
  // Why, of an error of our side: for the log, never for the client.
  Status cause = Status::Ok();
};

inline Response JsonResponse(int status, std::string json) {
  return {.status = status, .content_type = "application/json", .body = std::move(json)};
}

inline Response StreamResponse(std::shared_ptr<EventStream> stream) {
  return {.stream = std::move(stream)};
}

}  // namespace outbox::service
