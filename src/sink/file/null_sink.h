// `null:`: confirms everything and keeps nothing. For measuring, and for emptying a table.
#pragma once

#include <memory>

#include "outbox/sink.h"
#include "outbox/status.h"
#include "sink/uri.h"

namespace outbox::sink {

Result<std::shared_ptr<Sink>> MakeNullSink(const SinkUri& uri);

}  // namespace outbox::sink
