// `http://…`, `https://…`: a POST for each message, or for each batch.
//
// A message is confirmed when the server has answered its request with a whole 2xx answer. What the
// server has done by then is its own affair; after a broken connection or a time-out the message is
// sent again with the same webhook-id. Requests run side by side and may arrive in any order.
//
// A call sends one message, or one batch, and returns when that is answered: a slow answer keeps no
// other message waiting. Connections are shared by all calls (client.h) and used again by later
// ones. Private addresses are refused unless allowed (address_guard.h). Redirects are not followed.
// docs/reference/sinks/http.md has the options.
//
// Threads: Publish by as many as options.concurrency says, all on one thread of the sink's own that
// drives their requests. It starts with the first Publish and ends with Close.
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
