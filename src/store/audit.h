// Audit: who asks for a change, for the record that is written in the transaction of the change:
// neither is there without the other.
#pragma once

#include <cstddef>
#include <string>

namespace outbox::store {

struct Audit {
  std::string actor;          // the subject of a token, or "user@host"
  std::string request_id;     // empty: not a request
  std::string filter = "{}";  // what was asked for, as JSON; no payloads
  std::size_t matched = 0;    // how many rows were counted before
};

}  // namespace outbox::store
