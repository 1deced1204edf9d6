#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/json_object.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/table.h"
#include "config/config.h"
#include "config/key.h"

namespace outbox::cli {
namespace {

struct Options {
  std::string database;
  std::string file;
  std::string profile;
  bool json = false;
};

std::string OriginOf(const config::Resolved& resolved, std::string_view key) {
  const auto found = resolved.origins.find(key);
  return (found == resolved.origins.end() ? config::Origin{} : found->second).ToString();
}

// Calls `each` with a key, its value and its origin: all keys, or those a table may have of its
// own.
template <typename Each>
void ForEachSetting(const config::Resolved& resolved, bool table_keys, Each each) {
  for (const config::Key& key : config::Keys()) {
    const bool is_alias = !config::KeysSetBy(key.name).empty();
    if (is_alias || (table_keys && key.table_name.empty())) continue;
    each(key, key.PrintMasked(resolved.settings), OriginOf(resolved, key.name));
  }
}

std::string SettingsJson(const config::Resolved& resolved, bool table_keys) {
  std::vector<std::string> settings;
  ForEachSetting(resolved, table_keys,
                 [&](const config::Key& key, const auto& value, const auto& origin) {
                   settings.push_back(base::JsonObject()
                                          .Add("key", key.name)
                                          .Add("value", value)
                                          .Add("origin", origin)
                                          .Add("environment", key.environment)
                                          .Finish());
                 });
  return base::JsonArray(settings);
}

void PrintJson(const config::Config& config) {
  std::vector<std::string> tables;
  for (const config::TableConfig& table : config.tables) {
    tables.push_back(base::JsonObject()
                         .Add("name", table.name)
                         .Add("relays", table.relays)
                         .Add("cleans", table.cleans)
                         .AddRaw("settings", SettingsJson(table, true))
                         .Finish());
  }
  std::cout << base::JsonObject()
                   .AddRaw("settings", SettingsJson(config, false))
                   .AddRaw("tables", base::JsonArray(tables))
                   .Finish()
            << '\n';
}

// One table for all: a row for each common setting, then those in which a table differs.
void PrintTable(const config::Config& config) {
  Table shown({{.title = "KEY"}, {.title = "VALUE", .cut = true}, {.title = "ORIGIN"}});
  const auto add = [&](const std::string& name, const std::string& value,
                       const std::string& origin) {
    shown.Add({{name}, {value}, {origin, origin == "default" ? Style::kDim : Style::kPlain}});
  };
  ForEachSetting(config, false, [&](const config::Key& key, const auto& value, const auto& origin) {
    add(std::string(key.name), value, origin);
  });
  for (const config::TableConfig& table : config.tables) {
    ForEachSetting(table, true, [&](const config::Key& key, const auto& value, const auto& origin) {
      const bool differs =
          value != key.PrintMasked(config.settings) || origin != OriginOf(config, key.name);
      if (differs) add(base::StrCat(table.name, " ", key.table_name), value, origin);
    });
  }
  std::cout << shown.For(STDOUT_FILENO);
}

Status Run(const Options& options) {
  config::Sources sources{.environment = config::ProcessEnvironment(), .complete = false};
  const auto set = [&](const char* key, const std::string& text, const char* flag) {
    if (text.empty()) return;
    sources.flags.emplace(key, config::Value{text, {config::Origin::Kind::kFlag, flag}});
  };
  if (!options.file.empty()) sources.file = options.file;
  set("database", options.database, "--db");
  set("profile", options.profile, "--profile");
  OUTBOX_ASSIGN_OR_RETURN(const config::Config config, config::Load(sources));
  options.json ? PrintJson(config) : PrintTable(config);
  return Status::Ok();
}

}  // namespace

void AddConfig(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("config", "Check the configuration; print each value and its origin");
  auto options = std::make_shared<Options>();
  command->add_option("--db", options->database, "Database; else OUTBOX_DB or the file's");
  command->add_option("--config", options->file, "Configuration file (TOML)")
      ->envname("OUTBOX_CONFIG");
  command->add_option("--profile", options->profile, "Start from this profile");
  AddJsonFlag(*command, options->json);
  command->callback([&action, options] { action = [options] { return Run(*options); }; });
}

}  // namespace outbox::cli
