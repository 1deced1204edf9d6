// `http://…`, `https://…`: a POST for each message, or for each batch.
//
// A message is confirmed when the server has answered its request with a whole 2xx answer. What the
// server has done by then is its own affair; after a broken connection or a time-out the message is
// sent again with the same webhook-id. Requests run side by side and may arrive in any order.
//
// Connections are kept and used again by later calls. Private addresses are refused unless allowed
// (address_guard.h). Redirects are not followed. docs/reference/sinks/http.md has the options.
//
// Threads: Publish by up to two threads at a time, each on connections of its own; calls that were
// abandoned may still be running beside them.
#pragma once

#include <memory>

#include "outbox/sink.h"
#include "outbox/status.h"
#include "sink/http/options.h"
#include "sink/net/way.h"
#include "sink/uri.h"

namespace outbox::sink {

Result<std::shared_ptr<Sink>> MakeHttpSink(const SinkUri& uri);
std::shared_ptr<Sink> MakeHttpSink(HttpOptions options);
// One that tells how its connections are made.
Result<std::shared_ptr<Sink>> MakeObservedHttpSink(const SinkUri& uri, ConnectObserver observer);
// How its server is reached, no further than the guard allows.
Result<Way> HttpWay(const SinkUri& uri);

}  // namespace outbox::sink
