// What a failure that librdkafka reports means to the relay.
//
// A message of which librdkafka can not say whether the broker has it is in doubt, whatever the
// error. Otherwise: a message that no broker will ever take is permanent; what concerns one topic
// is a retry, so that other topics go on; everything else is a cluster that is away.
#pragma once

#include <librdkafka/rdkafka.h>

#include <string_view>

#include "outbox/status.h"

namespace outbox::sink {

struct KafkaFailure {
  rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
  rd_kafka_msg_status_t persisted = RD_KAFKA_MSG_STATUS_NOT_PERSISTED;
  // Sent in a request of its own: a refusal is about this message and not about its company.
  bool alone = true;
  // The cluster answers other questions: a message that could not be sent waits for its partition.
  bool cluster_answers = false;
};

// A broker refuses a request as a whole, whichever of its messages it dislikes.
bool IsRefusedRequest(rd_kafka_resp_err_t error) noexcept;

// `servers` is "host:port,host:port"; `detail` what librdkafka adds, or empty.
Status ClassifyKafkaError(const KafkaFailure& failure, std::string_view servers,
                          std::string_view detail);

}  // namespace outbox::sink
