// HttpOptions: what the address of an http: or https: sink says.
//
// The address is the URL itself. Query parameters whose names begin with "outbox." are options of
// the sink and are taken out; all others stay in the URL as they were written.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "outbox/message.h"
#include "outbox/status.h"
#include "sink/authority.h"
#include "sink/http/address_guard.h"
#include "sink/http/signature.h"
#include "sink/net/connect_step.h"
#include "sink/net/tls_options.h"
#include "sink/uri.h"

namespace outbox::sink {

enum class HttpBody : std::uint8_t {
  kStructured,  // a CloudEvent
  kBinary,      // the payload, and the CloudEvent's attributes as ce- headers
  kPlain,       // the payload
  kEnvelope,    // the payload and its metadata as one JSON object
};

struct HttpOptions {
  std::string url;        // without user, password, fragment and our options
  Endpoint endpoint;      // for errors
  std::string user = {};  // basic authentication
  std::string password = {};
  std::string bearer = {};
  std::vector<WebhookSecret> secrets = {};  // each signs; two while one replaces the other
  std::vector<std::string> hidden = {};     // never to be shown, whoever repeats it; longest first

  HttpBody body = HttpBody::kStructured;
  bool batch = false;                   // many messages in one request
  std::size_t batch_max = 100;          // messages in it
  std::size_t batch_bytes = 1'000'000;  // of its body, unless a single message has more
  Headers headers = {};                 // sent with each request

  std::size_t concurrency = 64;               // requests in flight
  std::chrono::milliseconds timeout{15'000};  // of one request, connecting included
  std::chrono::milliseconds connect_timeout{5'000};
  bool http2 = true;  // when an https server offers it
  std::string proxy = {};
  AddressGuard guard = {};  // not asked when there is a proxy: the proxy connects, not we
  TlsOptions tls = {};      // of https:

  // Requests may share a connection.
  bool multiplexed() const { return http2 && url.starts_with("https:"); }

  // Told how a new connection was made, by the thread that publishes.
  ConnectObserver observer = {};

  // For tests: asked before each request, it says where the host's name leads, as
  // "host:port:address".
  std::function<std::string()> resolve = {};
};

// kInvalidArgument names every problem at once, and no secret.
Result<HttpOptions> ReadHttpOptions(const SinkUri& uri);

}  // namespace outbox::sink
