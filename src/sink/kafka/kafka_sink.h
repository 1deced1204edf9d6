// `kafka://[user:password@]host:port[,host:port]?topic=…`: produces to Apache Kafka by librdkafka.
//
// A message is confirmed when the brokers in sync have it (acks=all), which its delivery report
// says. The producer is idempotent: its own retries make no duplicates and keep the order within a
// partition. What is published again after a failure may be a duplicate.
//
// A broker refuses a request as a whole when it dislikes one message of it. What was refused so is
// produced once more in the same call, a message to a request; who is refused alone is at fault.
//
// A cluster that is away is a sink that is down. A message that may have been sent when the time
// was up is in doubt, and taken back where that is still possible. A producer with a fatal error is
// replaced.
//
// One producer, several calls: one hands its batch over while others wait for their last reports.
#pragma once

#include <memory>

#include "outbox/sink.h"
#include "outbox/status.h"
#include "sink/net/way.h"
#include "sink/uri.h"

namespace outbox::sink {

Result<std::shared_ptr<Sink>> MakeKafkaSink(const SinkUri& uri);
// How its servers are reached.
Result<Way> KafkaWay(const SinkUri& uri);

}  // namespace outbox::sink
