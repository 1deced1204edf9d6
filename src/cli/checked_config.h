// The configuration as `serve`, `relay` and `config` take it: read, checked, and everything made
// that needs no connection. So all three refuse the same things in the same words, and tell every
// problem at once, each with the place where it was written.
#pragma once

#include <memory>
#include <vector>

#include "config/config.h"
#include "log/logger.h"
#include "outbox/sink.h"
#include "outbox/status.h"

namespace outbox::cli {

struct ConfiguredSink {
  const config::Settings* settings;  // of the configuration
  std::shared_ptr<Sink> sink;
};

struct CheckedConfig {
  config::Config config;
  // Made and not opened, of the tables that are delivered from, in their order: a table's own sink,
  // or those of its routes.
  std::vector<ConfiguredSink> sinks;
};

struct Checks {
  bool service = true;  // also the files and the variables of the HTTP service
};

struct Verdict {
  CheckedConfig checked;   // as far as it could be understood
  Status status;           // kInvalidArgument: all that is wrong with it
  bool understood = true;  // every value is what somebody wrote
};
Verdict ExamineConfig(const config::Sources& sources, const Checks& checks = {});

Result<CheckedConfig> CheckConfig(const config::Sources& sources, const Checks& checks = {});

// False when there is no table, and the profile does not mean it so.
bool HasWork(const config::Config& config);

// A process that has nothing to deliver from says so, once, and what to set.
void TellIfIdle(const config::Config& config, const log::Logger& logger);

}  // namespace outbox::cli
