// What became of a request, and what that means for its message.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "outbox/status.h"
#include "sink/http/options.h"

namespace outbox::sink {

struct HttpExchange {
  CURLcode code = CURLE_OK;       // of the transfer as a whole
  std::string detail = {};        // curl's own words for it
  long status = 0;                // 0: no answer
  bool sent = false;              // some of the request has left
  bool blocked = false;           // every address of the host was refused by the guard
  bool cut_off = false;           // we stopped reading an answer that was too long
  std::string content_type = {};  // of the answer
  std::size_t body_bytes = 0;     // of its body, as far as it was read
  std::string response = {};      // the body's beginning; never told
  std::string excerpt = {};       // what of it may be told: see TellableExcerpt
  std::optional<std::chrono::milliseconds> retry_after = {};
};

// OK for a complete answer 2xx, and for nothing else. What other answers mean, unless
// options.verdicts says otherwise:
//
//   the destination is down: 3xx, 401, 403, 404, 405, 407, and 429 and 503 with Retry-After
//   it is down until a person resumes it (Status::WithPause): 410
//   waiting may help (retry): 408, 425, 429, 5xx
//   the message is refused (permanent): other 4xx
//
// Without an answer the destination is down when nothing was sent, its address is not allowed, or
// it cannot prove who it is. A request that was sent and not answered in whole is in doubt.
//
// The error tells the status in words of our own, and how much of what kind the answer was: what a
// server writes may be what it was sent, in any disguise, also as its reason phrase.
//
// A refusal of the message itself has Code::kRejected, also when a verdict says to retry it.
Status ClassifyExchange(const HttpExchange& exchange, const HttpOptions& options);

// The first options.excerpt bytes of an answer's body, or why they are not shown: nothing of an
// answer is shown that repeats one of the `sent` bodies in some form (message/payload_echo.h).
std::string TellableExcerpt(std::string_view response, std::span<const std::string_view> sent,
                            const HttpOptions& options);

// Of a destination none of whose addresses the guard allows.
Status AddressNotAllowed(const HttpOptions& options);

}  // namespace outbox::sink
