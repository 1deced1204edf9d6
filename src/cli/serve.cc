#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/database.h"
#include "cli/supervisor.h"
#include "config/config.h"
#include "config/config_json.h"
#include "log/log_observer.h"
#include "outbox/version.h"
#include "relay/observer_list.h"
#include "relay/relay_id.h"
#include "service/api/service.h"

namespace outbox::cli {
namespace {

constexpr std::chrono::seconds kServiceStopTime{10};

struct ServeFlags {
  std::string database;
  std::string file;
  bool json = false;
};

struct Shown {
  std::shared_ptr<service::RelayBoard> board;
  std::shared_ptr<service::RelaySwitch> relay_switch;
  std::shared_ptr<service::MetricsObserver> metrics;
  const log::Logger& logger;
  std::string process;
};

// Null when no address is given.
Result<std::unique_ptr<service::Service>> StartService(const config::Config& config,
                                                       store::Backend& backend, Shown shown) {
  const service::ServiceOptions& options = config.settings.service;
  if (!options.enabled()) return std::unique_ptr<service::Service>();
  const log::Logger& logger = shown.logger;
  service::ServiceParts parts{.backend = backend,
                              .board = std::move(shown.board),
                              .relay_switch = std::move(shown.relay_switch),
                              .metrics = std::move(shown.metrics),
                              .logger = logger,
                              .process = std::move(shown.process),
                              .config_json = config::ToJson(config)};
  const std::string notifications = backend.DisplayName(options.notification_table);
  for (const config::TableConfig& table : config.tables) {
    parts.tables.push_back(table.name);
    if (backend.DisplayName(table.name) == notifications) {
      parts.notification_attempts_max = table.settings.relay.retry.attempts_max;
    }
  }
  OUTBOX_ASSIGN_OR_RETURN(auto service, service::Service::Start(options, std::move(parts)));
  for (const std::string& address : service->addresses()) {
    logger.Write(log::Level::kInfo, "listening", {{"address", address}});
  }
  return service;
}

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
  const auto board = std::make_shared<service::RelayBoard>();
  const auto relay_switch = std::make_shared<service::RelaySwitch>();
  const auto metrics = std::make_shared<service::MetricsObserver>(config.settings.service.metrics);
  const store::ProcessInfo process = relay::ThisProcess();
  std::vector<std::shared_ptr<RelayObserver>> observers{std::make_shared<log::LogObserver>(logger)};
  if (config.settings.service.enabled()) observers.insert(observers.end(), {board, metrics});

  // Before the first relay: whoever watches sees everything.
  OUTBOX_ASSIGN_OR_RETURN(const auto backend, OpenDatabase(config.settings.database));
  OUTBOX_ASSIGN_OR_RETURN(const auto service, StartService(config, *backend,
                                                           {.board = board,
                                                            .relay_switch = relay_switch,
                                                            .metrics = metrics,
                                                            .logger = *logger,
                                                            .process = process.id}));
  OUTBOX_ASSIGN_OR_RETURN(
      const auto supervisor,
      Supervisor::Start(config, std::make_shared<relay::ObserverList>(std::move(observers)),
                        signals, {.process = process, .cleaners = true}));
  logger->Write(log::Level::kInfo, "serving",
                {{"version", Version()}, {"tables", config.tables.size()}});
  relay_switch->Connect([&](std::string_view table, std::string_view sink, bool hold) {
    return supervisor->Hold(table, sink, hold);
  });
  Status ended = supervisor->Run({});
  relay_switch->Connect(nullptr);
  if (service != nullptr) {
    const Status stopped = service->Stop(Deadline::After(kServiceStopTime));
    if (ended.ok()) ended = stopped;
  }
  const RelayStats totals = supervisor->Totals();
  logger->Write(
      log::Level::kInfo, "ended",
      {{"delivered", totals.delivered}, {"retried", totals.retried}, {"dead", totals.dead}});
  return ended;
}

}  // namespace

void AddServe(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "serve", "Run relays, cleaners and the HTTP service as a file or the environment says");
  auto options = std::make_shared<ServeFlags>();
  command->add_option("--db", options->database, "Database; else OUTBOX_DB or the file's");
  command->add_option("--config", options->file, "Configuration file (TOML)")
      ->envname("OUTBOX_CONFIG");
  command->add_flag("--json", options->json, "Write log lines as JSON");
  command->callback([&action, options] { action = [options] { return Run(*options); }; });
}

}  // namespace outbox::cli
