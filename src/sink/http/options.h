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
  std::vector<std::string> hidden = {};     // never to be shown, whoever repeats it

  HttpBody body = HttpBody::kStructured;
  bool batch = false;           // one request per Publish call
  std::size_t batch_max = 100;  // messages in it
  Headers headers = {};         // sent with each request

  std::size_t concurrency = 64;               // requests in flight
  std::chrono::milliseconds timeout{15'000};  // of one request, connecting included
  std::chrono::milliseconds connect_timeout{5'000};
  bool http2 = true;  // when an https server offers it
  std::string proxy = {};
  AddressGuard guard = {};  // not asked when there is a proxy: the proxy connects, not we
  bool tls_verify = true;
  std::string tls_ca = {};  // files; the system's certificates when empty
  std::string tls_cert = {};
  std::string tls_key = {};

  // For tests: asked before each request, it says where the host's name leads, as
  // "host:port:address".
  std::function<std::string()> resolve = {};
};

// kInvalidArgument names every problem at once, and no secret.
Result<HttpOptions> ReadHttpOptions(const SinkUri& uri);

}  // namespace outbox::sink
