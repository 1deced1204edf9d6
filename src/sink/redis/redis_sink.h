// `redis://user:password@host:port/db?stream=…`, `rediss:` under TLS: Redis Streams.
//
// A batch is one pipeline of XADD commands, which the server executes in groups. A message is
// confirmed when the server has answered its command with the id of the entry; what that survives
// is the server's choice (appendfsync). With dedupe the command is a script that adds a message
// once for as long as its id is remembered.
//
// When the connection breaks or the deadline passes, messages whose groups had left whole and
// were not answered are in doubt; those before are settled by their answers and those after were
// never sent. Entries of one stream stand in the order of the batch; of two calls at a time either
// may be first.
//
// Threads: one connection, two calls: one sends its batch while the other waits for its last
// replies. Under TLS calls wait for each other.
#pragma once

#include <memory>

#include "outbox/sink.h"
#include "outbox/status.h"
#include "sink/net/way.h"
#include "sink/uri.h"

namespace outbox::sink {

Result<std::shared_ptr<Sink>> MakeRedisSink(const SinkUri& uri);
// How its servers are reached.
Result<Way> RedisWay(const SinkUri& uri);

}  // namespace outbox::sink
