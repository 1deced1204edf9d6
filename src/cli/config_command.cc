#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/text.h"
#include "cli/checked_config.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/table.h"
#include "cli/wrap.h"
#include "config/config.h"
#include "config/config_json.h"
#include "config/key.h"

namespace outbox::cli {
namespace {

struct ConfigFlags {
  std::string database;
  std::string file;
  std::string profile;
  bool json = false;
};

using config::ForEachSetting;
using config::OriginOf;

// "orders.# → rabbit, hook (ordered)"
std::string RouteText(const message::Route& route) {
  const std::string_view order = !route.ordered         ? ""
                                 : route.waits_for_dead ? " (ordered)"
                                                        : " (ordered, skips the dead)";
  return base::StrCat(route.topics, " → ", base::Join(route.destinations, ", "), order);
}

// "delivered by routes, cleaned"
std::string TableText(const config::TableConfig& table) {
  std::vector<std::string> parts;
  if (table.relays) parts.emplace_back(table.routes.empty() ? "delivered" : "delivered by routes");
  if (table.cleans) parts.emplace_back("cleaned");
  return parts.empty() ? "left alone" : base::Join(parts, ", ");
}

// One table for all: a row for each common setting, then those in which a table differs, then its
// routes and those in which a sink differs from its table.
void PrintTable(const config::Config& config) {
  Table shown({{.title = "KEY", .cut = true, .width_least = 26},
               {.title = "VALUE", .cut = true, .width_least = 12},
               {.title = "ORIGIN", .cut = true, .width_least = 12, .leave_out = 1}});
  const auto add = [&](const std::string& name, const std::string& value,
                       const std::string& origin) {
    shown.Add({{name}, {value}, {origin, origin == "default" ? Style::kDim : Style::kPlain}});
  };
  ForEachSetting(config, false, [&](const config::Key& key, const auto& value, const auto& origin) {
    add(std::string(key.name), value, origin);
  });
  const auto add_differences = [&](const std::string& name, const config::Resolved& own,
                                   const config::Resolved& common) {
    ForEachSetting(own, true, [&](const config::Key& key, const auto& value, const auto& origin) {
      const bool differs =
          value != key.PrintMasked(common.settings) || origin != OriginOf(common, key.name);
      if (differs) add(base::StrCat(name, " ", key.table_name), value, origin);
    });
  };
  for (const config::TableConfig& table : config.tables) {
    add(table.name, TableText(table), "");
    add_differences(table.name, table, config);
    for (const message::Route& route : table.routes) {
      add(base::StrCat(table.name, " route"), RouteText(route), "file");
    }
    for (const config::Destination& sink : table.destinations) {
      add_differences(base::StrCat(table.name, "/", sink.name), sink, table);
    }
  }
  std::cout << shown.For(STDOUT_FILENO);
}

Status Run(const ConfigFlags& options) {
  config::Sources sources{
      .environment = config::ProcessEnvironment(), .by_variables = true, .complete = false};
  const auto set = [&](const char* key, const std::string& text, const char* flag) {
    if (text.empty()) return;
    sources.flags.emplace(key, config::Value{text, {config::Origin::Kind::kFlag, flag}});
  };
  if (!options.file.empty()) sources.file = options.file;
  set("database", options.database, "--db");
  set("profile", options.profile, "--profile");
  const Verdict verdict = ExamineConfig(sources);
  const config::Config& config = verdict.checked.config;
  if (verdict.understood && options.json) PrintJson(config::ToJson(config));
  if (verdict.understood && !options.json) PrintTable(config);
  if (verdict.status.ok() && !HasWork(config)) {
    PrintNote("note: there is no table to deliver from, so serve would not start");
  }
  return verdict.status;
}

}  // namespace

void AddConfig(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("config", "Check the configuration; print each value and its origin");
  auto options = std::make_shared<ConfigFlags>();
  command->add_option("--db", options->database, "Database; else OUTBOX_DB or the file's");
  command->add_option("--config", options->file, "Configuration file (TOML)")
      ->envname("OUTBOX_CONFIG");
  command->add_option("--profile", options->profile, "Start from this profile");
  AddJsonFlag(*command, options->json);
  command->callback([&action, options] { action = [options] { return Run(*options); }; });
}

}  // namespace outbox::cli
