// ServerOptions: how a Server is set up. Plain values; Server::Start checks them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "outbox/status.h"
#include "service/http/limits.h"

namespace outbox::service {

class Router;
struct Request;
struct Response;

struct ListenAddress {
  // An address, not a name: "127.0.0.1", "::1"; "0.0.0.0" is every IPv4 address, "::" every address
  // of both kinds. "localhost" is 127.0.0.1.
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one

  // "127.0.0.1:8080", "[::1]:8080"
  std::string ToString() const;
};

// TLS 1.2 or newer. Files are read once, at the start.
struct TlsOptions {
  std::string certificate_file;  // PEM, the server's own first, then what leads to its authority
  std::string key_file;          // PEM, without a passphrase
};

// Where to listen, and what is there. Listeners may have different routers: one for tenants, one
// for operators.
struct ListenerOptions {
  ListenAddress address;
  std::shared_ptr<const Router> router;
  std::optional<TlsOptions> tls;
};

struct ServerOptions {
  Limits limits;
  std::size_t io_threads = 2;         // serve all connections
  std::size_t worker_threads = 4;     // run handlers
  std::size_t worker_queue_max = 64;  // requests waiting for a worker; one more gets 503
  // Pages of these origins may call ("https://ui.example:8443"). Empty: CORS is off.
  std::vector<std::string> cors_origins;
  // Asked on a worker about a request that has a body, before that is read: its head only. What it
  // returns is the answer, and the body is not taken. So only clients that are known cost memory.
  std::function<std::optional<Response>(const Request&)> before_body;
};

// kInvalidArgument names the option and its bounds.
Status Validate(const ServerOptions& options);

}  // namespace outbox::service
