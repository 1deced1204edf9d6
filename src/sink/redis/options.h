// RedisOptions: what an address `redis://user:password@host:port/db?stream=…` says.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "message/envelope.h"
#include "outbox/status.h"
#include "sink/authority.h"
#include "sink/net/tls_options.h"
#include "sink/text_template.h"
#include "sink/uri.h"

namespace outbox::sink {

struct RedisOptions {
  std::vector<Endpoint> endpoints;  // tried in this order
  std::string user;                 // empty: the default user
  std::string password;             // empty: no AUTH
  int db = 0;
  std::optional<TlsOptions> tls;  // with rediss:

  TextTemplate stream;               // the key of the stream
  bool same_stream = false;          // for all messages
  std::size_t maxlen = 0;            // entries kept; 0: all
  bool maxlen_exact = false;         // trim to the entry, not to the node
  std::size_t group = 100;           // messages added as one, at most; 1: each by itself
  std::chrono::milliseconds dedupe;  // how long an id is remembered; 0: not at all
  message::BodyFormat body = message::BodyFormat::kPlain;

  // kInvalidArgument names every problem at once.
  static Result<RedisOptions> Read(const SinkUri& uri);
};

}  // namespace outbox::sink
