#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>

#include "base/json_object.h"
#include "base/text.h"
#include "cli/await_database.h"
#include "cli/checked_config.h"
#include "cli/commands.h"
#include "cli/database.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/open_files.h"
#include "cli/supervisor.h"
#include "cli/terminal.h"
#include "cli/when.h"
#include "cli/wrap.h"
#include "config/config.h"
#include "config/key.h"
#include "log/log_observer.h"
#include "relay/observer_list.h"
#include "relay/relay_id.h"

namespace outbox::cli {
namespace {

using base::StrCat;
using config::Origin;

// For the closing words of a drain that ran out of time.
constexpr std::chrono::seconds kCountTimeout{10};

struct RelayFlags {
  std::string database;
  std::vector<std::string> tables;
  std::vector<std::string> routes;
  config::Layer settings;  // from the flags that are keys
  std::string log_level;
  std::string log_format;
  std::string heartbeat_interval;
  std::string database_wait;
  bool drain = false;
  std::string timeout;
  bool json = false;
};

// This command serves every table it is given, without routes and without a cleaner.
bool HasEffect(const config::Key& key) {
  constexpr std::array<std::string_view, 5> kWithout{"relay.enabled", "relay.unrouted",
                                                     "relay.completion", "cleaner.dead_retention",
                                                     "cleaner.audit_retention"};
  return !key.table_name.empty() && std::ranges::find(kWithout, key.name) == kWithout.end();
}

// A flag for each key a table may have of its own, so that `relay` needs no file.
void AddSettingFlags(CLI::App& command, config::Layer& settings) {
  const config::Settings defaults;
  for (const config::Key& key : config::Keys()) {
    if (!HasEffect(key)) continue;
    const std::string usual = key.print(defaults);
    std::string help = StrCat(key.help, usual.empty() ? "" : " [", usual, usual.empty() ? "" : "]");
    std::erase(help, '`');
    const bool may_stand_alone = key.type == "true | false";
    const auto set = [&settings, &key, may_stand_alone](const std::string& text) {
      settings.insert_or_assign(std::string(key.name),
                                config::Value{text.empty() && may_stand_alone ? "true" : text,
                                              {Origin::Kind::kFlag, key.flag()}});
    };
    CLI::Option* option = command.add_option_function<std::string>(key.flag(), set, help);
    if (may_stand_alone) option->expected(0, 1);
    option->type_name(std::string(key.type))->group(kSettingsGroup);
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
  set("database_wait", options.database_wait, "--wait-for-db");
  set("relay.tables", base::Join(tables, ","), options.routes.empty() ? "--table" : "--route");
  set("log.level", options.log_level, "--log-level");
  set("log.format", options.log_format, "--log-format");
  set("relay.heartbeat_interval", options.heartbeat_interval, "--heartbeat-interval");
  // Without a table of the command line everything is the environment's, as it is for serve.
  sources.by_variables = tables.empty();
  // Who names no table at all has forgotten it.
  sources.idle_allowed = sources.environment.contains("OUTBOX_RELAY_TABLES");
  return sources;
}

// `json`: where to write it as JSON; null writes it for people.
void PrintSummary(const RelayStats& stats, std::chrono::milliseconds took, std::ostream* json) {
  const double seconds = static_cast<double>(took.count()) / 1000;
  const double rate = seconds > 0 ? static_cast<double>(stats.delivered) / seconds : 0;
  if (json != nullptr) {
    PrintJson(base::JsonObject()
                  .Add("delivered", stats.delivered)
                  .Add("retried", stats.retried)
                  .Add("dead", stats.dead)
                  .Add("released", stats.released)
                  .Add("lost", stats.lost)
                  .AddRaw("seconds", base::JsonNumber(seconds))
                  .AddRaw("per_second", base::JsonNumber(rate))
                  .Finish(),
              *json);
    return;
  }
  PrintNote(StrCat("delivered ", FormatCount(stats.delivered), ", retried ",
                   FormatCount(stats.retried), ", dead ", FormatCount(stats.dead), " in ",
                   FormatSpan(took), " (", FormatCount(static_cast<std::uint64_t>(rate)), "/s)"));
}

// The last failure that a sink or the database told of each table. Any thread.
class LastFailures final : public RelayObserver {
 public:
  struct Failure {
    Status status;
    bool of_database = false;
  };

  void OnPublished(const Message& message, const Status& result, Duration) override {
    if (!result.ok()) Note(message.table, {result, false});
  }
  void OnStoreError(std::string_view table, std::string_view, const Status& error,
                    Duration) override {
    Note(table, {error, true});
  }
  void OnSettled(std::string_view table, const SettleCounts&, Duration) override {
    const std::lock_guard lock(mutex_);
    const auto found = of_table_.find(table);
    if (found != of_table_.end() && found->second.of_database) of_table_.erase(found);
  }

  // Ok when there was none.
  Failure Of(const std::string& table) const {
    const std::lock_guard lock(mutex_);
    const auto found = of_table_.find(table);
    return found == of_table_.end() ? Failure{} : found->second;
  }

 private:
  void Note(std::string_view table, Failure failure) {
    const std::lock_guard lock(mutex_);
    of_table_.insert_or_assign(std::string(table), std::move(failure));
  }

  mutable std::mutex mutex_;
  std::map<std::string, Failure, std::less<>> of_table_;
};

// How many messages a table still holds: "3 messages are".
Result<std::string> CountLeft(store::Backend& backend, const std::string& table) {
  const Deadline deadline = Deadline::After(kCountTimeout);
  OUTBOX_ASSIGN_OR_RETURN(const auto store, backend.OpenInspect(table, deadline));
  OUTBOX_ASSIGN_OR_RETURN(const auto stats, store->Stats(store::Scope::All(), false, deadline));
  const auto left = static_cast<std::uint64_t>(stats.pending + stats.processing);
  if (left == 0) return std::string();
  return StrCat(FormatCount(left, stats.live_estimated),
                left == 1 ? " message is" : " messages are");
}

// "it is paused by olga: maintenance"; empty for a table that is not.
std::string WhyPaused(store::Backend& backend, const std::string& table) {
  const auto pauses = backend.OpenControl()->Pauses(Deadline::After(kCountTimeout));
  if (!pauses.ok()) return {};
  for (const store::RelayPause& pause : *pauses) {
    if (pause.table != table || !pause.sink.empty()) continue;
    return StrCat("it is paused by ", pause.by, pause.reason.empty() ? "" : ": ", pause.reason);
  }
  return {};
}

// "3 messages are left in public.orders_outbox: connection refused" of each table that has any.
Status ExplainTimeout(const config::Config& config, const LastFailures& failures, Status timeout) {
  OUTBOX_ASSIGN_OR_RETURN(const auto backend, OpenDatabase(config.settings.database));
  std::vector<std::string> left;
  std::string hint =
      "outboxd list shows them; outboxd sink test URI tries the sink; or give them longer with "
      "--timeout";
  for (const config::TableConfig& table : config.tables) {
    const std::string name = backend->DisplayName(table.name);
    const auto count = CountLeft(*backend, table.name);
    if (count.ok() && count->empty()) continue;
    LastFailures::Failure failure = failures.Of(name);
    if (!count.ok()) failure = {count.error(), true};
    if (failure.of_database) hint = failure.status.hint();
    std::string why = failure.status.ok() ? "" : failure.status.ToString();
    if (const std::string paused = WhyPaused(*backend, name); !paused.empty()) {
      why = paused;
      hint = StrCat("let it go on: outboxd resume --table ", name);
    }
    left.push_back(StrCat(count.ok() ? *count : "messages may be", " left in ", name,
                          why.empty() ? "" : ": ", why));
  }
  if (left.empty()) return timeout;
  return Status::Retry(Code::kDeadline, base::Join(left, "; ")).WithHint(std::move(hint));
}

Status ExplainDead(std::uint64_t dead) {
  return Status::Permanent(Code::kRejected, StrCat(Plural(dead, "message"), " went dead"))
      .WithHint("outboxd list --status dead shows them, and outboxd retry sends them again");
}

bool WritesToStdout(const config::Config& config) {
  return std::any_of(config.tables.begin(), config.tables.end(), [](const auto& table) {
    return table.relays && table.settings.sink.starts_with("stdout:");
  });
}

// A drain is a task to be done now, unless somebody asked it to wait.
std::chrono::milliseconds DatabaseWait(const RelayFlags& options, const config::Config& config) {
  const bool asked = config.origins.contains("database_wait");
  return options.drain && !asked ? std::chrono::milliseconds(0) : config.settings.database_wait;
}

Status Run(const RelayFlags& options) {
  Supervisor::Until until{.drained = options.drain};
  if (!options.timeout.empty()) {
    OUTBOX_ASSIGN_OR_RETURN(until.timeout, ParseSpan("--timeout", options.timeout));
  }
  OUTBOX_ASSIGN_OR_RETURN(const config::Sources sources, MakeSources(options));
  // Before the first sink is made: its threads must not take signals either.
  const StopSignals signals;
  OUTBOX_ASSIGN_OR_RETURN(const CheckedConfig checked, CheckConfig(sources, {.service = false}));
  const config::Config& config = checked.config;
  until.reader_gone = WritesToStdout(config);
  const auto started = std::chrono::steady_clock::now();
  const auto logger = std::make_shared<log::Logger>(config.settings.log);
  const auto failures = std::make_shared<LastFailures>();
  const auto observers =
      std::make_shared<relay::ObserverList>(std::vector<std::shared_ptr<RelayObserver>>{
          std::make_shared<log::LogObserver>(logger), failures});
  OUTBOX_RETURN_IF_ERROR(ReserveFiles(checked, false, *logger).error());
  OUTBOX_RETURN_IF_ERROR(AwaitDatabase(config.settings.database, DatabaseWait(options, config),
                                       config.settings.relay.reconnect_max, signals, *logger));
  OUTBOX_ASSIGN_OR_RETURN(
      const auto supervisor,
      Supervisor::Start(checked, observers, signals,
                        {.process = relay::ThisProcess(), .interrupted = [&] {
                           logger->Write(log::Level::kInfo, "ended", {{"waited_for", "start"}});
                         }}));
  TellIfIdle(config, *logger);
  Status ended = supervisor->Run(until);
  std::ostream& output = until.reader_gone ? std::cerr : std::cout;
  const RelayStats totals = supervisor->Totals();
  PrintSummary(totals,
               std::chrono::duration_cast<std::chrono::milliseconds>(
                   std::chrono::steady_clock::now() - started),
               options.json ? &output : nullptr);
  if (!options.drain) return ended;
  if (until.timeout && ended.code() == Code::kDeadline)
    return ExplainTimeout(config, *failures, std::move(ended));
  return ended.ok() && totals.dead > 0 ? ExplainDead(totals.dead) : ended;
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
  auto* drain =
      command->add_flag("--drain", options->drain,
                        "End when nothing is left to deliver; with 1 if a message went dead");
  command->add_option("--timeout", options->timeout, "With --drain: fail after this long (60s)")
      ->needs(drain);
  command->add_option("--log-level", options->log_level, "debug, info, warn or error [info]");
  command->add_option("--log-format", options->log_format, "logfmt or json [logfmt]");
  command->add_option("--heartbeat-interval", options->heartbeat_interval,
                      "How often to tell the database how the relays stand [5s]");
  command->add_option("--wait-for-db", options->database_wait,
                      "How long to wait at the start for a database that is away "
                      "[60s; with --drain 0]");
  command->add_flag(
      "--json", options->json,
      "Write the closing summary as JSON (to standard error if messages go to stdout:)");
  AddSettingFlags(*command, options->settings);
  command->callback([&action, options] { action = [options] { return Run(*options); }; });
}

}  // namespace outbox::cli
