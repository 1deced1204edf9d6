#include "cli/checked_config.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <utility>

#include "base/text.h"
#include "cli/database.h"
#include "config/problems_of.h"
#include "config/profile.h"
#include "config/value.h"
#include "service/api/service.h"
#include "sink/registry.h"

namespace outbox::cli {
namespace {

using base::StrCat;

sink::OptionDefaults DefaultsOf(const config::SinkDefaults& defaults) {
  return {.body = config::Print(defaults.body), .mandatory = config::Print(defaults.mandatory)};
}

class Examination {
 public:
  Examination(const config::Sources& sources, const Checks& checks) : sources_(sources) {
    config::Examined examined = config::Examine(sources);
    parsed_ = examined.parsed;
    problems_ = std::move(examined.problems);
    verdict_.understood = problems_.empty();
    verdict_.checked.config = std::move(examined.config);
    CheckDatabase(sources.complete || HasWork(config()));
    MakeSinks();
    if (checks.service) CheckService();
  }

  Verdict Finish() && {
    if (problems_.size() == 1) {
      verdict_.status = Status::Invalid(problems_.front()).WithHint(hint_);
    } else if (!problems_.empty()) {
      std::ranges::stable_sort(problems_, {}, [&](const auto& line) { return LineOf(line); });
      verdict_.status = config::AllProblems(problems_);
    }
    return std::move(verdict_);
  }

 private:
  const config::Config& config() const { return verdict_.checked.config; }

  void CheckDatabase(bool required) {
    const std::string& address = config().settings.database;
    // A file that could not be read may have it.
    if (address.empty() && !(required && parsed_)) return;
    const Status status = OpenDatabase(address).error();
    if (!status.ok()) Add(config::FindOrigin(config(), "database"), "", status);
  }

  void MakeSinks() {
    for (const config::TableConfig& table : config().tables) {
      if (!table.relays) continue;
      if (table.routes.empty()) MakeSink(table, "");
      for (const config::Destination& sink : table.destinations) {
        MakeSink(sink, StrCat("sink '", sink.name, "': "));
      }
    }
  }

  void MakeSink(const config::Resolved& resolved, const std::string& name) {
    const config::Settings& settings = resolved.settings;
    if (settings.sink.empty()) return;  // has been told
    auto made = sink::OpenSink(settings.sink, {}, DefaultsOf(settings.sink_defaults));
    if (made.ok()) {
      verdict_.checked.sinks.push_back({&settings, *std::move(made)});
    } else {
      Add(config::FindOrigin(resolved, "relay.sink"), name, made.error());
    }
  }

  void CheckService() {
    for (const auto& [key, status] : service::Service::Check(config().settings.service)) {
      const std::string_view name = key.substr(key.find('.') + 1);
      const bool named = status.message().starts_with(StrCat(name, ": "));
      Add(config::FindOrigin(config(), key), named ? "service." : StrCat(key, ": "), status);
    }
  }

  // A sink may stand in the routes of several tables.
  void Add(const config::Origin& origin, const std::string& what, const Status& status) {
    const std::string place = origin.chosen() ? StrCat(origin.ToString(), ": ") : "";
    const std::string line = StrCat(place, what, status.message());
    const auto is_line = [&](const std::string& problem) { return problem.starts_with(line); };
    if (std::ranges::any_of(problems_, is_line)) return;
    if (problems_.empty()) {
      hint_ = status.hint();
      problems_.push_back(line);
      return;
    }
    const auto with_hint = [](const std::string& text, const std::string& hint) {
      return hint.empty() ? text : StrCat(text, "; ", hint);
    };
    // The first one's has no line of its own any more.
    problems_.front() = with_hint(problems_.front(), std::exchange(hint_, ""));
    problems_.push_back(with_hint(line, status.hint()));
  }

  // In the file; what is elsewhere comes after it.
  std::size_t LineOf(const std::string& problem) const {
    std::size_t line = std::numeric_limits<std::size_t>::max();
    const std::string place = StrCat(sources_.file.value_or(""), ":");
    if (!problem.starts_with(place)) return line;
    std::from_chars(problem.data() + place.size(), problem.data() + problem.size(), line);
    return line;
  }

  const config::Sources& sources_;
  bool parsed_ = true;
  config::Problems problems_;
  std::string hint_;  // of the only problem
  Verdict verdict_;
};

}  // namespace

Verdict ExamineConfig(const config::Sources& sources, const Checks& checks) {
  return Examination(sources, checks).Finish();
}

Result<CheckedConfig> CheckConfig(const config::Sources& sources, const Checks& checks) {
  Verdict verdict = ExamineConfig(sources, checks);
  if (verdict.status.ok()) return std::move(verdict.checked);
  return std::move(verdict.status);
}

bool HasWork(const config::Config& config) {
  const config::Profile* profile = config::FindProfile(config.settings.profile);
  return !config.tables.empty() || (profile != nullptr && profile->may_be_idle);
}

void TellIfIdle(const config::Config& config, const log::Logger& logger) {
  if (!config.tables.empty()) return;
  logger.Write(log::Level::kWarn, "no table is configured: nothing will be relayed",
               {{"hint",
                 "set OUTBOX_RELAY_TABLES, give relay --table, or add a [[table]] to the "
                 "file"}});
}

}  // namespace outbox::cli
