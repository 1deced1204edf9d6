#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "base/json_object.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/format.h"
#include "cli/supervisor.h"
#include "config/config.h"
#include "config/key.h"
#include "log/log_observer.h"
#include "relay/relay_id.h"

namespace outbox::cli {
namespace {

using base::StrCat;
using config::Origin;

struct RelayFlags {
  std::string database;
  std::vector<std::string> tables;
  std::vector<std::string> routes;
  config::Layer settings;  // from the flags that are keys
  std::string log_level;
  std::string log_format;
  std::string heartbeat_interval;
  bool drain = false;
  std::string timeout;
  bool json = false;
};

// A flag for each key a table may have of its own, so that `relay` needs no file.
void AddSettingFlags(CLI::App& command, config::Layer& settings) {
  for (const config::Key& key : config::Keys()) {
    if (key.table_name.empty() || key.name == "relay.enabled") continue;
    std::string help(key.help);
    help.erase(std::remove(help.begin(), help.end(), '`'), help.end());
    const auto set = [&settings, &key](const std::string& text) {
      settings.insert_or_assign(
          std::string(key.name),
          config::Value{text.empty() ? "true" : text, {Origin::Kind::kFlag, key.flag()}});
    };
    CLI::Option* option = command.add_option_function<std::string>(key.flag(), set, help);
    if (key.type == "true | false") option->expected(0, 1);
    option->type_name(std::string(key.type))->group("Settings");
  }
}

Result<config::Sources> MakeSources(const RelayFlags& options) {
  config::Sources sources{.environment = config::ProcessEnvironment(), .flags = options.settings};
  const auto set = [&](const char* key, const std::string& text, const char* flag) {
    if (!text.empty()) {
      sources.flags.insert_or_assign(key, config::Value{text, {Origin::Kind::kFlag, flag}});
    }
  };
  std::vector<std::string> tables = options.tables;
  for (const std::string& route : options.routes) {
    const std::size_t equals = route.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Status::Invalid("--route: is not of the form TABLE=SINK")
          .WithHint("for example --route orders_outbox=file:orders.jsonl");
    }
    const Origin origin{Origin::Kind::kFlag, "--route"};
    tables.push_back(route.substr(0, equals));
    sources.flag_tables.push_back(
        {tables.back(), origin, {{"relay.sink", {route.substr(equals + 1), origin}}}});
  }
  set("database", options.database, "--db");
  set("relay.tables", base::Join(tables, ","), options.routes.empty() ? "--table" : "--route");
  set("log.level", options.log_level, "--log-level");
  set("log.format", options.log_format, "--log-format");
  set("relay.heartbeat_interval", options.heartbeat_interval, "--heartbeat-interval");
  if (tables.empty() && !sources.environment.contains("OUTBOX_RELAY_TABLES")) {
    return Status::Invalid("no table to deliver from")
        .WithHint("give --table NAME --sink URI, or --route NAME=URI");
  }
  return sources;
}

// `json`: where to write it as JSON; null writes it for people.
void PrintSummary(const RelayStats& stats, std::chrono::milliseconds took, std::ostream* json) {
  const double seconds = static_cast<double>(took.count()) / 1000;
  const double rate = seconds > 0 ? static_cast<double>(stats.delivered) / seconds : 0;
  if (json != nullptr) {
    *json << base::JsonObject()
                 .Add("delivered", stats.delivered)
                 .Add("retried", stats.retried)
                 .Add("dead", stats.dead)
                 .Add("released", stats.released)
                 .Add("lost", stats.lost)
                 .AddRaw("seconds", base::JsonNumber(seconds))
                 .AddRaw("per_second", base::JsonNumber(rate))
                 .Finish()
          << '\n';
    return;
  }
  std::cerr << StrCat("delivered ", FormatCount(stats.delivered), ", retried ",
                      FormatCount(stats.retried), ", dead ", FormatCount(stats.dead), " in ",
                      FormatSpan(took), " (", FormatCount(static_cast<std::uint64_t>(rate)),
                      "/s)\n");
}

bool WritesToStdout(const config::Config& config) {
  return std::any_of(config.tables.begin(), config.tables.end(), [](const auto& table) {
    return table.relays && table.settings.sink.starts_with("stdout:");
  });
}

Status Run(const RelayFlags& options) {
  Supervisor::Until until{.drained = options.drain};
  if (!options.timeout.empty()) {
    OUTBOX_ASSIGN_OR_RETURN(until.timeout, base::ParseDuration(options.timeout));
  }
  OUTBOX_ASSIGN_OR_RETURN(const config::Sources sources, MakeSources(options));
  OUTBOX_ASSIGN_OR_RETURN(const config::Config config, config::Load(sources));
  until.reader_gone = WritesToStdout(config);

  const StopSignals signals;
  const auto started = std::chrono::steady_clock::now();
  const auto logger = std::make_shared<log::Logger>(config.settings.log);
  OUTBOX_ASSIGN_OR_RETURN(const auto supervisor,
                          Supervisor::Start(config, std::make_shared<log::LogObserver>(logger),
                                            signals, {.process = relay::ThisProcess()}));
  const Status ended = supervisor->Run(until);
  std::ostream& output = until.reader_gone ? std::cerr : std::cout;
  PrintSummary(supervisor->Totals(),
               std::chrono::duration_cast<std::chrono::milliseconds>(
                   std::chrono::steady_clock::now() - started),
               options.json ? &output : nullptr);
  return ended;
}

}  // namespace

void AddRelay(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("relay", "Deliver from tables to a sink; needs no configuration file");
  auto options = std::make_shared<RelayFlags>();
  command->add_option("--db", options->database,
                      "Database: postgres://…, a libpq DSN, or sqlite:PATH; else OUTBOX_DB");
  command->add_option("--table", options->tables, "Deliver from this table; may be repeated");
  command->add_option("--route", options->routes,
                      "TABLE=SINK: a table with a sink of its own; may be repeated");
  auto* drain = command->add_flag("--drain", options->drain, "End when nothing is left to deliver");
  command->add_option("--timeout", options->timeout, "With --drain: fail after this long")
      ->needs(drain);
  command->add_option("--log-level", options->log_level, "debug, info, warn or error");
  command->add_option("--log-format", options->log_format, "logfmt or json");
  command->add_option("--heartbeat-interval", options->heartbeat_interval,
                      "How often to tell the database how the relays stand: 5s");
  command->add_flag(
      "--json", options->json,
      "Write the closing summary as JSON (to standard error if messages go to stdout:)");
  AddSettingFlags(*command, options->settings);
  command->callback([&action, options] { action = [options] { return Run(*options); }; });
}

}  // namespace outbox::cli
