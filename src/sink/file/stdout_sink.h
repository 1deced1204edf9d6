// `stdout:`: one JSON object a line on standard output.
//
// A message is confirmed when the reader's pipe, or the terminal, has taken its line. A reader that
// went away is a sink that is down and stays so; the program notices and ends (SIGPIPE is ignored).
// A reader that stalls makes a call end at its deadline; the line it has half of is ended first
// thing in the next.
#pragma once

#include <memory>

#include "outbox/sink.h"
#include "outbox/status.h"
#include "sink/uri.h"

namespace outbox::sink {

Result<std::shared_ptr<Sink>> MakeStdoutSink(const SinkUri& uri);

}  // namespace outbox::sink
