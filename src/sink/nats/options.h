// NatsOptions: what an address `nats://user:password@host:port,host?subject=…` says.
#pragma once

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

struct NatsOptions {
  std::vector<Endpoint> endpoints;  // tried in this order
  std::string user;
  std::string password;
  std::string token;              // instead of user and password
  std::string creds_file;         // a user's JWT and key, instead of both
  std::string nkey_file;          // a user's key alone
  std::optional<TlsOptions> tls;  // with natss:

  TextTemplate subject;
  std::string stream;         // the stream that must take the messages; empty: any
  std::string id_suffix;      // after the message's id in Nats-Msg-Id
  std::size_t window = 1000;  // messages that may wait for their answers
  message::BodyFormat body = message::BodyFormat::kPlain;

  // kInvalidArgument names every problem at once.
  static Result<NatsOptions> Read(const SinkUri& uri);
};

}  // namespace outbox::sink
