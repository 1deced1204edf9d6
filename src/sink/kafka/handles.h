// librdkafka's objects, owned.
#pragma once

#include <librdkafka/rdkafka.h>

#include "base/handle.h"

namespace outbox::sink {

using KafkaConf = base::UniqueHandle<rd_kafka_conf_t, rd_kafka_conf_destroy>;
using KafkaClient = base::UniqueHandle<rd_kafka_t, rd_kafka_destroy>;
using KafkaError = base::UniqueHandle<rd_kafka_error_t, rd_kafka_error_destroy>;
using KafkaHeaders = base::UniqueHandle<rd_kafka_headers_t, rd_kafka_headers_destroy>;

}  // namespace outbox::sink
