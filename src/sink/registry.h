// The sinks this program knows, by the scheme of their address.
//
// A new sink is one line in registry.cc: nothing registers itself.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "outbox/sink.h"
#include "outbox/status.h"
#include "sink/net/connect_step.h"
#include "sink/net/way.h"
#include "sink/uri.h"

namespace outbox::sink {

// Options of an address that a deployment may set for all of its sinks. Empty: the sink's own.
struct OptionDefaults {
  std::string body;
  std::string mandatory;
};

struct SinkKind {
  std::string_view scheme;
  std::string_view usage;  // for help: "file:PATH[?fsync=always|never]"
  // Checks the address and makes a sink; connects nothing.
  Result<std::shared_ptr<Sink>> (*make)(const SinkUri& uri);
  // How its servers are reached; null when it has none.
  Result<Way> (*way)(const SinkUri& uri) = nullptr;
  // One that tells how its connections are made; null when only a probe can find that out.
  Result<std::shared_ptr<Sink>> (*make_observed)(const SinkUri& uri,
                                                 ConnectObserver observer) = nullptr;
  // What it calls the options of OptionDefaults; empty for one that it does not have.
  std::string_view body_option = {};
  std::string_view mandatory_option = {};
  // An option that says what the body is when it is true, so that no default may.
  std::string_view body_deciding_option = {};
};

// The kind of a scheme; null when there is none.
const SinkKind* FindSinkKind(std::string_view scheme) noexcept;

std::span<const SinkKind> SinkKinds() noexcept;

// `uri` with the options that it does not give and its kind has.
SinkUri WithDefaults(SinkUri uri, const OptionDefaults& defaults);

// The sink that `uri` addresses, ready for Sink::Open. An unknown scheme is kInvalidArgument, and
// the hint lists those that are known. The observer is for the kinds that can be observed.
Result<std::shared_ptr<Sink>> OpenSink(std::string_view uri, ConnectObserver observer = {},
                                       const OptionDefaults& defaults = {});

}  // namespace outbox::sink
