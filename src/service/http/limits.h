// Limits: what one client may cost. Every one of them has an answer, named beside it.
#pragma once

#include <chrono>
#include <cstddef>

namespace outbox::service {

struct Limits {
  using Time = std::chrono::milliseconds;

  // Of a request.
  std::size_t header_bytes_max = 16 * 1024;  // request line and fields: 431
  std::size_t header_fields_max = 100;       // 431
  std::size_t target_bytes_max = 4 * 1024;   // 414
  std::size_t body_bytes_max = 1024 * 1024;  // 413, before the rest is read
  std::size_t query_parameters_max = 64;     // 400

  // Of time. A request's clock starts with its first byte, a connection's with the handshake.
  Time header_time = std::chrono::seconds(5);   // until the header is there: 408, closed
  Time request_time = std::chrono::seconds(9);  // until all of it is there: 408, closed
  Time handle_time = std::chrono::seconds(10);  // the handler's deadline: 504
  Time write_time = std::chrono::seconds(30);   // until the answer, or one event, is taken: closed
  Time idle_time = std::chrono::seconds(60);    // between requests: closed
  // After the last answer: how long, and for how many bytes, input is thrown away before closing,
  // so that the answer is not lost by a reset. A body that was refused before it was read has its
  // own limits.
  Time linger_time = std::chrono::seconds(1);
  std::size_t linger_bytes_max = 256 * 1024;

  // Of connections. For one too many the one is closed that has waited longest for its client
  // (connections.h); when none waits, it is accepted, told 503 and closed.
  std::size_t connections_max = 1024;
  std::size_t connections_per_address_max = 0;  // 0: no such limit
  std::size_t requests_per_connection_max = 10'000;
};

}  // namespace outbox::service
