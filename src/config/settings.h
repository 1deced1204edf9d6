// Settings: every value the configuration knows, for one outbox table or for all of them.
//
// The defaults of the members are the profile `default`. key.h lists how each is named, read and
// printed.
#pragma once

#include <string>
#include <vector>

#include "log/logger.h"
#include "outbox/options.h"

namespace outbox::config {

struct Settings {
  std::string database;
  std::string profile = "default";
  log::LogOptions log;

  bool relay_enabled = true;
  std::vector<std::string> relay_tables;
  std::string sink;
  RelayOptions relay;  // relay.retention is the cleaner's

  std::vector<std::string> cleaner_tables;  // empty: the relay's
  CleanerOptions cleaner;
};

}  // namespace outbox::config
