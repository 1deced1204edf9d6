// ServiceOptions: where the HTTP service listens, whom it believes, and what it offers.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/status.h"
#include "service/auth/options.h"
#include "service/http/options.h"
#include "service/metrics/options.h"

namespace outbox::service {

struct ServiceOptions {
  // "127.0.0.1:8080", "[::1]:8080", "0.0.0.0:8080"; port 0 is any free one. Empty: no service.
  std::vector<std::string> listen;
  // With it, the operators' API, metrics and health are here and not at `listen`.
  std::vector<std::string> admin_listen;
  std::string tls_certificate;  // PEM files, both or none
  std::string tls_key;
  std::vector<std::string> cors_origins;

  AuthOptions auth;
  std::size_t rate_limit = 50;     // requests a second of one subject, with all of its tokens
  std::size_t rate_burst = 100;    // at once after a pause
  std::size_t refusal_limit = 10;  // refused tokens a second of one address
  std::size_t refusal_burst = 50;  // at once after a pause

  MetricsOptions metrics;
  bool enqueue = false;  // messages may be enqueued over HTTP
  std::string notification_table = "notification_outbox";
  std::chrono::milliseconds stalled_after{std::chrono::minutes(1)};
  std::size_t workers = 4;                    // requests that are worked on at a time
  std::size_t connections = 1024;             // open at a time at `listen`
  std::size_t connections_per_address = 512;  // of those, from one address; 0: no such limit
  std::size_t admin_connections = 128;        // open at a time at `admin_listen`

  bool enabled() const noexcept { return !listen.empty() || !admin_listen.empty(); }
  // "service.listen: …", one for each problem. Looks at no file and no network.
  std::vector<std::string> Problems() const;
};

// kInvalidArgument when it is not "address:port".
Result<ListenAddress> ParseListenAddress(std::string_view text);

}  // namespace outbox::service
