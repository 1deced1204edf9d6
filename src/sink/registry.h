// The sinks this program knows, by the scheme of their address.
//
// A new sink is one line in registry.cc: nothing registers itself.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "outbox/sink.h"
#include "outbox/status.h"
#include "sink/uri.h"

namespace outbox::sink {

// How far `outboxd sink test` can look at the way to a destination before the sink itself tries.
enum class Reach : std::uint8_t {
  kLocal,    // there is no way to look at
  kResolve,  // its name only: where the sink may connect to is the sink's to decide
  kConnect,  // a TCP connection
  kTls,      // TLS from the first byte
};

struct SinkKind {
  std::string_view scheme;
  std::string_view usage;  // for help: "file:PATH[?fsync=always|never]"
  // Checks the address and makes a sink; connects nothing.
  Result<std::shared_ptr<Sink>> (*make)(const SinkUri& uri);
  Reach reach = Reach::kLocal;
  int port = 0;  // the default one
};

// The kind of a scheme; null when there is none.
const SinkKind* FindSinkKind(std::string_view scheme) noexcept;

std::span<const SinkKind> SinkKinds() noexcept;

// The sink that `uri` addresses, ready for Sink::Open. An unknown scheme is kInvalidArgument, and
// the hint lists those that are known.
Result<std::shared_ptr<Sink>> OpenSink(std::string_view uri);

}  // namespace outbox::sink
