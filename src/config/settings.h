// Settings: every value the configuration knows, for one outbox table or for all of them.
//
// The defaults of the members are the profile `default`. key.h lists how each is named, read and
// printed.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "log/logger.h"
#include "message/envelope.h"
#include "message/routes.h"
#include "outbox/options.h"
#include "service/api/options.h"

namespace outbox::config {

// How a sink is fed, beyond what the sink itself can take. Zero: no limit.
struct SinkLimits {
  std::size_t concurrency = 0;       // Publish calls at a time
  std::size_t batch = 0;             // messages in one Publish call
  std::size_t per_second = 0;        // messages a second, with bursts of `burst`
  std::size_t burst = 0;             // as many as in a second
  std::size_t breaker_failures = 0;  // failures in a row that open the circuit
  std::chrono::milliseconds breaker_cooldown{std::chrono::seconds(30)};
};

// Options of a sink, for where its address does not give them.
struct SinkDefaults {
  // What of a message travels as the body; no value: as is usual for the kind of sink.
  std::optional<message::BodyFormat> body;
  bool mandatory = true;  // RabbitMQ: a message that no queue takes is a failure
};

struct Settings {
  std::string database;
  // How long `serve` and `relay` wait at their start for a database that is away.
  std::chrono::milliseconds database_wait{std::chrono::seconds(60)};
  std::string profile = "default";
  log::LogOptions log;

  bool relay_enabled = true;
  std::vector<std::string> relay_tables;
  std::string sink;
  SinkDefaults sink_defaults;
  SinkLimits limits;
  RelayOptions relay;  // relay.retention is the cleaner's
  // With routes only. No value: it must be chosen unless every topic has a route.
  std::optional<message::Unrouted> unrouted;
  // Of the process: how often its relays tell the database how they stand.
  std::chrono::milliseconds heartbeat_interval{std::chrono::seconds(5)};

  std::vector<std::string> cleaner_tables;  // empty: the relay's
  CleanerOptions cleaner;

  service::ServiceOptions service;
};

}  // namespace outbox::config
