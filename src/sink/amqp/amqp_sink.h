// `amqp://user:password@host:port/vhost?exchange=…` and `amqps://…`: RabbitMQ, by publisher
// confirms.
//
// A message is confirmed when the broker has sent its ack: for a persistent message in a durable
// queue, after it was written to disk; in a quorum queue, by most of its members. A message that no
// queue takes comes back before its ack (`mandatory`) and is a failure, as is one that a queue
// refuses (nack). What was sent and not answered when the connection or the time ended is in doubt.
//
// A message that the broker refuses by itself, for its size or a routing key that the user has no
// right to, ends the channel. The others of the batch go on over a new one: those sent before it
// and not confirmed are sent again.
//
// A batch is sent whole and its confirms are collected in any order. While the broker has an alarm
// (connection.blocked) Publish sends nothing and waits until its deadline; the connection is kept,
// so that an alarm leaves at most one batch in doubt. An idle connection is kept alive by
// heartbeats; one that was closed is opened anew by the next call. Of several hosts the next one is
// tried when one fails.
//
// The only wait that no deadline ends is that for the resolver of host names.
#pragma once

#include <memory>

#include "outbox/sink.h"
#include "outbox/status.h"
#include "sink/net/way.h"
#include "sink/uri.h"

namespace outbox::sink {

Result<std::shared_ptr<Sink>> MakeAmqpSink(const SinkUri& uri);
// How its servers are reached.
Result<Way> AmqpWay(const SinkUri& uri);

}  // namespace outbox::sink
