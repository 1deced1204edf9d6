// The options of a `kafka:` address, and the librdkafka configuration they amount to.
#pragma once

#include <cstddef>
#include <string>

#include "message/envelope.h"
#include "outbox/status.h"
#include "sink/kafka/handles.h"
#include "sink/text_template.h"
#include "sink/uri.h"

namespace outbox::sink {

struct KafkaOptions {
  std::string servers;  // "host:port,host:port"
  TextTemplate topic;
  message::BodyFormat body = message::BodyFormat::kPlain;
  std::size_t batch_bytes = 0;  // one request holds no more, unless a single message does
  // Everything but the servers and the callbacks: copied for each producer.
  KafkaConf conf;
};

// Fails with everything that is wrong, in librdkafka's words where the property is its own. Opens
// no connection.
Result<KafkaOptions> ReadKafkaOptions(const SinkUri& uri);

}  // namespace outbox::sink
