// Config: what a deployment has asked for, from all sources, checked as a whole.
//
// A value is looked for from the top of this pile; the first layer that has it wins:
//   the command line · the sink's own [[sink]] · the table's own [[table]] · the environment ·
//   the file · the profile · default
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/layer.h"
#include "config/settings.h"
#include "config/source.h"
#include "message/routes.h"
#include "outbox/status.h"

namespace outbox::config {

// Where each key's value came from.
using Origins = std::map<std::string, Origin, std::less<>>;

struct Resolved {
  Settings settings;
  Origins origins;
};

// One sink of a table with routes, with the settings that hold for deliveries to it.
struct Destination : Resolved {
  std::string name;
  Origin origin;  // of its [[sink]]
};

struct TableConfig : Resolved {
  std::string name;     // "public.orders_outbox"
  Origin origin;        // where it is named first
  bool relays = false;  // messages are delivered from it
  bool cleans = false;  // old rows are removed from it
  // With routes, messages are split into deliveries; without, they go to settings.sink themselves.
  std::vector<message::Route> routes;
  bool routed = false;  // a [[route]] names it, be it a good one or not
  std::vector<Destination> destinations;
};

struct Config : Resolved {  // settings: those that hold where no table says otherwise
  std::vector<TableConfig> tables;
};

struct Sources {
  std::optional<std::string> file;
  Environment environment;
  Layer flags;
  std::vector<TableEntry> flag_tables;
  // Without a file, and where nobody has chosen a profile, the variables of a known outbox choose
  // its profile (Profile::variables), even empty ones.
  bool by_variables = false;
  // Also refuse a configuration that would have nothing to do.
  bool complete = true;
  // Unless its profile may be idle.
  bool idle_allowed = true;
};

// A configuration as far as it can be understood, with everything that is wrong with it.
struct Examined {
  Config config;
  Problems problems;
  bool parsed = true;  // the file, if there is one
};
Examined Examine(const Sources& sources);

// The same, for those who take none with problems: AllProblems.
Result<Config> Load(const Sources& sources);

// kInvalidArgument lists every problem at once, one a line. There is at least one.
Status AllProblems(const Problems& problems);

}  // namespace outbox::config
