#include <unistd.h>

#include <CLI/CLI.hpp>
#include <future>
#include <memory>

#include "cli/await_database.h"
#include "cli/checked_config.h"
#include "cli/commands.h"
#include "cli/database.h"
#include "cli/open_files.h"
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
constexpr std::chrono::milliseconds kLook{50};  // how often, while it stops

struct ServeFlags {
  std::string database;
  std::string file;
  std::string database_wait;
  bool json = false;
};

struct Shown {
  std::shared_ptr<service::RelayBoard> board;
  std::shared_ptr<service::RelaySwitch> relay_switch;
  std::shared_ptr<service::MetricsObserver> metrics;
  std::shared_ptr<RelayObserver> observers;  // these, and those that write
  const log::Logger& logger;
  std::string process;
};

// Null when no address is given.
Result<std::unique_ptr<service::Service>> StartService(const config::Config& config,
                                                       const ConnectionRoom& room,
                                                       store::Backend& backend, Shown shown) {
  service::ServiceOptions options = config.settings.service;
  if (!options.enabled()) return std::unique_ptr<service::Service>();
  if (room.listen > 0) options.connections = room.listen;
  if (room.admin > 0) options.admin_connections = room.admin;
  const log::Logger& logger = shown.logger;
  service::ServiceParts parts{.backend = backend,
                              .board = std::move(shown.board),
                              .relay_switch = std::move(shown.relay_switch),
                              .metrics = std::move(shown.metrics),
                              .observers = std::move(shown.observers),
                              .logger = logger,
                              .process = std::move(shown.process),
                              .config_json = config::ToJson(config)};
  const std::string notifications = backend.DisplayName(options.notification_table);
  for (const config::TableConfig& table : config.tables) {
    parts.tables.push_back(table.name);
    const RelayFilter& filter = table.settings.relay.filter;
    if (filter.name_space || filter.tenant_id || !filter.topics.empty()) {
      parts.limited.insert(table.name);
    }
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

// Asked to by SIGHUP. Connections that are open keep the certificate they began with.
void ReadFilesAgain(service::Service* service, const log::Logger& logger) {
  const Status read = service == nullptr ? Status::Ok() : service->ReloadTls();
  if (read.ok()) {
    logger.Write(log::Level::kInfo, "TLS files read again", {});
  } else {
    logger.Write(log::Level::kError, "the TLS files can not be used: those read before are kept",
                 {{"error", read.message()}, {"hint", read.hint()}});
  }
}

// A further signal ends the process at once.
Status StopService(service::Service& service, const StopSignals& signals) {
  auto stopping = std::async(
      std::launch::async, [&service] { return service.Stop(Deadline::After(kServiceStopTime)); });
  while (stopping.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    if (const auto signal = signals.Wait(kLook)) _exit(128 + *signal);
  }
  return stopping.get();
}

Status Run(const ServeFlags& options) {
  // First: it must not end what has only just been started.
  const HangUpSignal hang_up;
  config::Sources sources{.environment = config::ProcessEnvironment(), .by_variables = true};
  if (!options.file.empty()) sources.file = options.file;
  const auto set = [&](const char* key, const std::string& text, const char* flag) {
    if (text.empty()) return;
    sources.flags.emplace(key, config::Value{text, {config::Origin::Kind::kFlag, flag}});
  };
  set("database", options.database, "--db");
  set("database_wait", options.database_wait, "--wait-for-db");
  if (options.json) set("log.format", "json", "--json");
  // Before the first sink is made: its threads must not take signals either.
  const StopSignals signals;
  OUTBOX_ASSIGN_OR_RETURN(const CheckedConfig checked, CheckConfig(sources));
  const config::Config& config = checked.config;
  const auto logger = std::make_shared<log::Logger>(config.settings.log);
  const auto board = std::make_shared<service::RelayBoard>();
  const auto relay_switch = std::make_shared<service::RelaySwitch>();
  const auto metrics = std::make_shared<service::MetricsObserver>(config.settings.service.metrics);
  const store::ProcessInfo process = relay::ThisProcess();
  std::vector<std::shared_ptr<RelayObserver>> observers{std::make_shared<log::LogObserver>(logger)};
  if (config.settings.service.enabled()) observers.insert(observers.end(), {board, metrics});
  const auto all = std::make_shared<relay::ObserverList>(std::move(observers));

  OUTBOX_ASSIGN_OR_RETURN(const ConnectionRoom room, ReserveFiles(checked, true, *logger));
  OUTBOX_RETURN_IF_ERROR(AwaitDatabase(config.settings.database, config.settings.database_wait,
                                       config.settings.relay.reconnect_max, signals, *logger));
  // Before the first relay: whoever watches sees everything.
  OUTBOX_ASSIGN_OR_RETURN(const auto backend, OpenDatabase(config.settings.database));
  OUTBOX_ASSIGN_OR_RETURN(const auto service, StartService(config, room, *backend,
                                                           {.board = board,
                                                            .relay_switch = relay_switch,
                                                            .metrics = metrics,
                                                            .observers = all,
                                                            .logger = *logger,
                                                            .process = process.id}));
  OUTBOX_ASSIGN_OR_RETURN(
      const auto supervisor,
      Supervisor::Start(checked, all, signals,
                        {.process = process, .cleaners = true, .interrupted = [&] {
                           if (service != nullptr) (void)StopService(*service, signals);
                           logger->Write(log::Level::kInfo, "ended", {{"waited_for", "start"}});
                         }}));
  logger->Write(log::Level::kInfo, "serving",
                {{"version", Version()},
                 {"tables", config.tables.size()},
                 {"profile", config.settings.profile},
                 {"profile_from", config::OriginOf(config, "profile")}});
  TellIfIdle(config, *logger);
  relay_switch->Connect([&](std::string_view table, std::string_view sink, bool pause) {
    return supervisor->Pause(table, sink, pause);
  });
  const Status ended = supervisor->Run({.looking =
                                            [&] {
                                              if (hang_up.Taken())
                                                ReadFilesAgain(service.get(), *logger);
                                            },
                                        .ending =
                                            [&] {
                                              if (service != nullptr) service->BeginStop();
                                            }});
  relay_switch->Connect(nullptr);
  if (service != nullptr) {
    const Status stopped = StopService(*service, signals);
    // A client that does not read is no failure of ours.
    if (!stopped.ok()) logger->Write(log::Level::kWarn, stopped.message(), {});
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
  command->add_option("--wait-for-db", options->database_wait,
                      "How long to wait at the start for a database that is away [60s]");
  command->add_flag("--json", options->json, "Write log lines as JSON");
  command->callback([&action, options] { action = [options] { return Run(*options); }; });
}

}  // namespace outbox::cli
