// RequestObserver: told of every request when it is over, and of connections and event streams that
// come and go. Access log and metrics are observers.
//
// Called on the server's I/O threads, several at a time: implementations synchronise themselves,
// return quickly and do not throw.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "outbox/status.h"

namespace outbox::service {

// Texts are valid during the call only.
struct RequestRecord {
  std::string_view method;  // "GET"; "OTHER" for methods we do not know
  std::string_view route;   // the pattern, never the path; empty when there was none
  int status = 0;
  std::uint64_t request_bytes = 0;
  std::uint64_t response_bytes = 0;
  std::chrono::steady_clock::duration took{};  // from its first byte to the answer's last
  std::string_view remote;
  std::string_view request_id;
  bool complete = true;  // false: the client left, or was cut off, before it had the whole answer
  bool stream = false;   // events: `took` is how long it listened
  const Status* cause = nullptr;  // of an error of our side, where it is known
};

class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  virtual void OnRequest(const RequestRecord& record) = 0;
  // One more (1) or one fewer (-1) is open.
  virtual void OnConnections(int change) { (void)change; }
  virtual void OnStreams(int change) { (void)change; }
  // One that waited for its client was told to make room for another.
  virtual void OnDisplaced() {}
  // There was no room for a connection.
  virtual void OnTurnedAway() {}
};

}  // namespace outbox::service
