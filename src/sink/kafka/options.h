// The options of a `kafka:` address, and the librdkafka configuration they amount to.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "message/envelope.h"
#include "outbox/status.h"
#include "sink/authority.h"
#include "sink/kafka/handles.h"
#include "sink/net/tls_options.h"
#include "sink/text_template.h"
#include "sink/uri.h"

namespace outbox::sink {

struct KafkaOptions {
  std::vector<Endpoint> endpoints;
  std::string servers;            // the same, "host:port,host:port"
  std::optional<TlsOptions> tls;  // with tls=true
  TextTemplate topic;
  message::BodyFormat body = message::BodyFormat::kPlain;
  std::size_t batch_bytes = 0;  // one request holds no more, unless a single message does
  // Everything but the servers and the callbacks: copied for each producer.
  KafkaConf conf;
};

// Letters, digits, '.', '_' and '-'; at most 249 of them.
bool IsKafkaTopic(std::string_view name) noexcept;

// Fails with everything that is wrong, in librdkafka's words where the property is its own. Opens
// no connection.
Result<KafkaOptions> ReadKafkaOptions(const SinkUri& uri);

}  // namespace outbox::sink
