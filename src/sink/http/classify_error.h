// What became of a request, and what that means for its message.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <optional>
#include <string>

#include "outbox/status.h"
#include "sink/http/options.h"

namespace outbox::sink {

struct HttpExchange {
  CURLcode code = CURLE_OK;   // of the transfer as a whole
  std::string detail = {};    // curl's own words for it
  long status = 0;            // 0: no answer
  bool sent = false;          // some of the request has left
  bool blocked = false;       // every address of the host was refused by the guard
  bool cut_off = false;       // we stopped reading an answer that was too long
  std::string response = {};  // the beginning of the answer's body; empty when it is not to be told
  std::optional<std::chrono::milliseconds> retry_after = {};
};

// OK for a complete answer 2xx, and for nothing else. Waiting helps (retry): 408, 425, 429, 5xx.
// Nothing helps (permanent): 3xx, other 4xx. The destination is down: nothing was sent; its address
// is not allowed; it asks to be left alone for a while (429 and 503 with Retry-After) or for good
// (410); it refuses our credentials (401, 407); it can not prove who it is. In doubt: the request
// was sent and no whole answer came.
Status ClassifyExchange(const HttpExchange& exchange, const HttpOptions& options);

}  // namespace outbox::sink
