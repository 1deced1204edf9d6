// AmqpOptions: what `amqp://user:password@host:port/vhost?exchange=…` says.
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

struct AmqpOptions {
  static constexpr std::size_t kShortTextMax = 255;  // AMQP's short strings

  std::vector<Endpoint> endpoints;  // tried in turn
  std::string user;
  std::string password;  // never to be shown
  std::string vhost;
  std::string connection_name;
  std::optional<TlsOptions> tls;       // with amqps:
  std::chrono::seconds heartbeat{30};  // 0: none

  std::string exchange;  // empty: the default exchange, whose routing keys are names of queues
  bool declare = false;
  std::string exchange_type;  // used when it is declared
  TextTemplate routing_key;
  bool same_routing_key = false;  // for all messages
  bool mandatory = true;
  bool persistent = true;
  message::BodyFormat body = message::BodyFormat::kPlain;

  std::size_t window = 1000;                  // messages sent and not yet confirmed
  std::size_t message_bytes_max = 134217728;  // larger bodies are refused before they are sent
};

Result<AmqpOptions> ReadAmqpOptions(const SinkUri& uri);

}  // namespace outbox::sink
