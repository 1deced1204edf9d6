// `nats://user:password@host:port,host?subject=…&stream=…`, `natss:` under TLS: NATS JetStream.
//
// Each message is published with a reply subject of its own, so that the outcome of each is
// certain: it is confirmed when JetStream has answered that a stream has stored it. `Nats-Msg-Id`
// is the message's id: a stream takes the same id once inside its duplicate window, and the answer
// to the second is a confirmation too. Two sinks that feed one stream need ids that differ
// (id_suffix=), or the stream has one copy of what goes to both.
//
// When the connection breaks or the deadline passes, messages without an answer are in doubt.
// Messages are stored in the order of the batch.
//
// Threads: one connection, two calls: one sends its batch while the other waits for its last
// answers. The client has threads of its own.
#pragma once

#include <memory>

#include "outbox/sink.h"
#include "outbox/status.h"
#include "sink/net/way.h"
#include "sink/uri.h"

namespace outbox::sink {

Result<std::shared_ptr<Sink>> MakeNatsSink(const SinkUri& uri);
// How its servers are reached.
Result<Way> NatsWay(const SinkUri& uri);

}  // namespace outbox::sink
