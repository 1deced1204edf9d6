// The sinks this program knows, by the scheme of their address.
//
// A new sink is one line in registry.cc: nothing registers itself.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "outbox/sink.h"
#include "outbox/status.h"
#include "sink/uri.h"

namespace outbox::sink {

struct SinkKind {
  std::string_view scheme;
  std::string_view usage;  // for help: "file:PATH[?fsync=always|never]"
  // Checks the address and makes a sink; connects nothing.
  Result<std::shared_ptr<Sink>> (*make)(const SinkUri& uri);
};

std::span<const SinkKind> SinkKinds() noexcept;

// The sink that `uri` addresses, ready for Sink::Open. An unknown scheme is kInvalidArgument, and
// the hint lists those that are known.
Result<std::shared_ptr<Sink>> OpenSink(std::string_view uri);

}  // namespace outbox::sink
