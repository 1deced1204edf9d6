// Layer: settings from one source, as text, each with the place it came from. A configuration is a
// pile of layers; the one on top wins.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace outbox::config {

// Where a value came from, for people: "outboxd.toml:12", "environment OUTBOX_DB".
struct Origin {
  enum class Kind { kDefault, kProfile, kFile, kEnvironment, kFlag };
  Kind kind = Kind::kDefault;
  std::string detail;  // the profile's name, file:line, the variable, the flag

  std::string ToString() const {
    switch (kind) {
      case Kind::kDefault: return "default";
      case Kind::kProfile: return base::StrCat("profile ", detail);
      case Kind::kFile: return detail;
      case Kind::kEnvironment: return base::StrCat("environment ", detail);
      case Kind::kFlag: return base::StrCat("flag ", detail);
    }
    return "unknown";
  }
  // True when a person set it.
  bool chosen() const { return kind != Kind::kDefault && kind != Kind::kProfile; }
};

struct Value {
  std::string text;  // lists are joined with commas
  Origin origin;
};

// By full key name: "relay.batch_size".
using Layer = std::map<std::string, Value, std::less<>>;

// The settings of one table: a [[table]] of the file, or a --route.
struct TableEntry {
  std::string name;
  Origin origin;
  Layer layer;
};

// A [[sink]] of the file; its address is the value of relay.sink.
using SinkEntry = TableEntry;

// A [[route]] of the file.
struct RouteEntry {
  std::string table;
  std::vector<std::string> topics;
  std::vector<std::string> sinks;
  bool ordered = false;
  bool waits_for_dead = true;
  Origin origin;
  Origin topics_origin;
  Origin sinks_origin;
};

// Every mistake found, one line each: "outboxd.toml:12: relay.batch_sise: unknown key; …".
using Problems = std::vector<std::string>;

}  // namespace outbox::config
