// HttpOptions: what the address of an http: or https: sink says.
//
// The address is the URL itself. Query parameters whose names begin with "outbox." are options of
// the sink and are taken out; all others stay in the URL as they were written.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "outbox/message.h"
#include "outbox/status.h"
#include "sink/authority.h"
#include "sink/body_option.h"
#include "sink/http/address_guard.h"
#include "sink/http/signature.h"
#include "sink/net/connect_step.h"
#include "sink/net/tls_options.h"
#include "sink/uri.h"

namespace outbox::sink {

// What an answer that is not 2xx means.
enum class HttpVerdict : std::uint8_t {
  kMessage,  // this message is refused: dead at once
  kRetry,    // this message failed now: retried, and dead when its attempts are used up
  kDown,     // no message's fault: the sink pauses, and no attempt counts
};

struct HttpOptions {
  std::string url;        // without user, password, fragment and our options
  Endpoint endpoint;      // for errors
  std::string user = {};  // basic authentication
  std::string password = {};
  std::string bearer = {};
  std::vector<WebhookSecret> secrets = {};  // each signs; two while one replaces the other
  std::vector<std::string> hidden = {};     // never to be shown, whoever repeats it; longest first

  BodyOption body = {.format = message::BodyFormat::kCloudEvents};
  bool batch = false;                   // many messages in one request
  std::size_t batch_max = 100;          // messages in it
  std::size_t batch_bytes = 1'000'000;  // of its body, unless a single message has more
  Headers headers = {};                 // sent with each request

  std::size_t concurrency = 64;               // requests in flight, and calls at a time
  std::chrono::milliseconds timeout{15'000};  // of one request, connecting included
  std::chrono::milliseconds connect_timeout{5'000};
  bool http2 = true;  // when an https server offers it
  std::string proxy = {};
  std::map<long, HttpVerdict> verdicts = {};  // by status, instead of the sink's own
  std::size_t excerpt = 0;                    // bytes of a refusal's body that errors may tell
  AddressGuard guard = {};  // not asked when there is a proxy: the proxy connects, not we
  TlsOptions tls = {};      // of https:

  // Requests may share a connection.
  bool multiplexed() const { return http2 && url.starts_with("https:"); }

  // Told how a new connection was made, by a thread of the sink's and before Publish returns.
  ConnectObserver observer = {};

  // For tests: asked before each request, it says where the host's name leads, as
  // "host:port:address".
  std::function<std::string()> resolve = {};
};

// kInvalidArgument names every problem at once, and no secret.
Result<HttpOptions> ReadHttpOptions(const SinkUri& uri);

}  // namespace outbox::sink
