// The two sources a deployment is configured from: one TOML file, and the environment.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/layer.h"

namespace outbox::config {

using Environment = std::map<std::string, std::string, std::less<>>;

// This process's own environment.
Environment ProcessEnvironment();

// The variables that are keys. A variable that starts like ours and is none of them is a problem,
// so that a misspelt one is not silently without effect. Empty variables count as absent.
Layer ReadEnvironment(const Environment& environment, Problems& problems);

struct File {
  bool parsed = true;  // it could be read, and is TOML
  Layer layer;
  std::vector<TableEntry> tables;
  std::vector<SinkEntry> sinks;
  std::vector<RouteEntry> routes;
};

// Reads what it can and adds a problem, with its line, for everything else.
File ReadFile(const std::string& path, Problems& problems);

}  // namespace outbox::config
