#include "cli/configured_sinks.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "config/config_json.h"
#include "config/value.h"
#include "sink/registry.h"

namespace outbox::cli {
namespace {

using base::StrCat;

sink::OptionDefaults DefaultsOf(const config::SinkDefaults& defaults) {
  return {.body = config::Print(defaults.body), .mandatory = config::Print(defaults.mandatory)};
}

class SinkMaker {
 public:
  void Add(const config::Resolved& resolved, std::string_view name) {
    const config::Settings& settings = resolved.settings;
    auto made = sink::OpenSink(settings.sink, {}, DefaultsOf(settings.sink_defaults));
    if (made.ok()) {
      sinks_.push_back({&resolved.settings, *std::move(made)});
      return;
    }
    const Status& error = made.error();
    std::string line = StrCat(config::OriginOf(resolved, "relay.sink"), ": ",
                              name.empty() ? "" : StrCat("sink '", name, "': "), error.message());
    // A sink may stand in the routes of several tables.
    if (std::find(problems_.begin(), problems_.end(), line) != problems_.end()) return;
    problems_.push_back(std::move(line));
    hint_ = error.hint();
  }

  Result<std::vector<ConfiguredSink>> Finish() && {
    if (problems_.empty()) return std::move(sinks_);
    if (problems_.size() == 1) return Status::Invalid(problems_.front()).WithHint(hint_);
    return Status::Invalid(StrCat("the configuration has ", problems_.size(), " problems:\n  ",
                                  base::Join(problems_, "\n  ")));
  }

 private:
  std::vector<ConfiguredSink> sinks_;
  std::vector<std::string> problems_;
  std::string hint_;
};

}  // namespace

Result<std::vector<ConfiguredSink>> MakeSinks(const config::Config& config) {
  SinkMaker maker;
  for (const config::TableConfig& table : config.tables) {
    if (!table.relays) continue;
    if (table.routes.empty()) maker.Add(table, "");
    for (const config::Destination& destination : table.destinations) {
      maker.Add(destination, destination.name);
    }
  }
  return std::move(maker).Finish();
}

}  // namespace outbox::cli
