#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/supervisor.h"
#include "config/config.h"
#include "log/log_observer.h"
#include "outbox/version.h"

namespace outbox::cli {
namespace {

struct ServeFlags {
  std::string database;
  std::string file;
  bool json = false;
};

Status Run(const ServeFlags& options) {
  config::Sources sources{.environment = config::ProcessEnvironment()};
  if (!options.file.empty()) sources.file = options.file;
  if (!options.database.empty()) {
    sources.flags.emplace("database",
                          config::Value{options.database, {config::Origin::Kind::kFlag, "--db"}});
  }
  if (options.json) {
    sources.flags.emplace("log.format",
                          config::Value{"json", {config::Origin::Kind::kFlag, "--json"}});
  }
  OUTBOX_ASSIGN_OR_RETURN(const config::Config config, config::Load(sources));

  const StopSignals signals;
  const auto logger = std::make_shared<log::Logger>(config.settings.log);
  OUTBOX_ASSIGN_OR_RETURN(
      const auto supervisor,
      Supervisor::Start(config, std::make_shared<log::LogObserver>(logger), signals, true));
  logger->Write(log::Level::kInfo, "serving",
                {{"version", Version()}, {"tables", config.tables.size()}});
  const Status ended = supervisor->Run({});
  const RelayStats totals = supervisor->Totals();
  logger->Write(
      log::Level::kInfo, "ended",
      {{"delivered", totals.delivered}, {"retried", totals.retried}, {"dead", totals.dead}});
  return ended;
}

}  // namespace

void AddServe(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("serve", "Run relays and cleaners as a file or the environment says");
  auto options = std::make_shared<ServeFlags>();
  command->add_option("--db", options->database, "Database; else OUTBOX_DB or the file's");
  command->add_option("--config", options->file, "Configuration file (TOML)")
      ->envname("OUTBOX_CONFIG");
  command->add_flag("--json", options->json, "Write log lines as JSON");
  command->callback([&action, options] { action = [options] { return Run(*options); }; });
}

}  // namespace outbox::cli
