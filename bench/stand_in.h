// Stand-ins for destinations, so that sinks can be measured where there are none: a web server that
// says 204 to everything, and librdkafka's own mock of a Kafka cluster.
//
// Threads: made and destroyed by one; each serves on threads of its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "outbox/status.h"

namespace outbox::bench {

class StandIn {
 public:
  virtual ~StandIn() = default;
  // Where a sink finds it.
  virtual std::string address() const = 0;
};

// "http", "kafka".
bool IsStandIn(std::string_view name) noexcept;

// Null when there is none of that name.
Result<std::unique_ptr<StandIn>> StartStandIn(std::string_view name);

}  // namespace outbox::bench
