#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/json_object.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/consent.h"
#include "cli/database.h"
#include "cli/flags.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/wrap.h"
#include "store/schema_check.h"

namespace outbox::cli {
namespace {

struct MigrateFlags {
  std::string database;
  std::vector<std::string> tables;
  std::string topics;
  bool notify = false;
  bool no_notify = false;
  std::string tenant_isolation;
  int from = 0;
  std::optional<int> to;
  bool no_transaction = false;
  bool discard_undelivered = false;
  bool yes = false;
  bool allow_remote = false;
  JsonFlags output;  // --jsonl: of status only
};

store::MigrateOptions ForTable(const MigrateFlags& options, const std::string& table) {
  store::MigrateOptions result{.table = table};
  if (!options.topics.empty()) {
    result.topics = options.topics == "relaxed" ? TopicRule::kRelaxed : TopicRule::kStrict;
  }
  if (options.notify || options.no_notify) result.notify = options.notify;
  if (!options.tenant_isolation.empty()) result.tenant_isolation = options.tenant_isolation == "on";
  result.discard_undelivered = options.discard_undelivered;
  return result;
}

std::string NumbersJson(const std::vector<int>& numbers) {
  std::vector<std::string> list;
  list.reserve(numbers.size());
  for (const int number : numbers) list.push_back(std::to_string(number));
  return base::JsonArray(list);
}

void PrintNumbers(const std::string& table, std::string_view verb,
                  const std::vector<int>& numbers) {
  for (const int number : numbers) {
    PrintLine(base::StrCat(table, ": ", verb, " migration ", number));
  }
}

void PrintNothing(const std::string& table) { PrintLine(base::StrCat(table, ": nothing to do")); }

std::string SwitchesJson(const std::vector<store::Switch>& switches) {
  base::JsonObject json;
  for (const store::Switch& each : switches) json.Add(each.name, each.value);
  return json.Finish();
}

std::string UpJson(const std::string& table, const store::Migrated& done) {
  return base::JsonObject()
      .Add("table", table)
      .AddRaw("applied", NumbersJson(done.applied))
      .AddRaw("switched", SwitchesJson(done.switched))
      .Finish();
}

void PrintUp(const std::string& table, const store::Migrated& done) {
  PrintNumbers(table, "applied", done.applied);
  for (const store::Switch& each : done.switched) {
    PrintLine(
        base::StrCat(table, ": ", base::Join(base::Split(each.name, '_'), " "), ": ", each.value));
  }
  if (done.applied.empty() && done.switched.empty()) PrintNothing(table);
}

std::string DownJson(const std::string& table, const std::vector<int>& numbers) {
  return base::JsonObject().Add("table", table).AddRaw("reverted", NumbersJson(numbers)).Finish();
}

void PrintDown(const std::string& table, const std::vector<int>& numbers) {
  PrintNumbers(table, "reverted", numbers);
  if (numbers.empty()) PrintNothing(table);
}

void PrintTablesJson(const std::vector<std::string>& tables) {
  PrintJson(base::JsonObject().AddRaw("tables", base::JsonArray(tables)).Finish());
}

// Runs `step` for each table until one fails; it prints for people, and returns what to print for
// programs. They get one object, also of the tables before the one that failed.
template <typename Step>
Status ForEachTable(const MigrateFlags& options, Step step) {
  std::vector<std::string> done;
  Status status;
  for (const std::string& table : options.tables) {
    Result<std::string> json = step(table);
    status = json.error();
    if (!status.ok()) break;
    done.push_back(std::move(json).value());
  }
  if (options.output.json && !done.empty()) PrintTablesJson(done);
  return status;
}

Status Up(const MigrateFlags& options, store::Backend& backend) {
  OUTBOX_ASSIGN_OR_RETURN(const auto migrator, backend.OpenMigrator(CommandDeadline()));
  return ForEachTable(options, [&](const std::string& table) -> Result<std::string> {
    OUTBOX_ASSIGN_OR_RETURN(const auto done,
                            migrator->Up(ForTable(options, table), CommandDeadline()));
    if (!options.output.json) PrintUp(table, done);
    return UpJson(table, done);
  });
}

Status Down(const MigrateFlags& options, store::Backend& backend) {
  OUTBOX_RETURN_IF_ERROR(RequireLocal(backend, options.allow_remote));
  OUTBOX_ASSIGN_OR_RETURN(const auto migrator, backend.OpenMigrator(CommandDeadline()));
  std::vector<std::string> names;
  for (const std::string& table : options.tables) {
    OUTBOX_ASSIGN_OR_RETURN(const auto schema, migrator->Inspect(table, CommandDeadline()));
    OUTBOX_RETURN_IF_ERROR(store::RequireOurs(schema, backend.DisplayName(table)));
    if (schema.exists) names.push_back(backend.DisplayName(table));
  }
  if (!names.empty()) {
    OUTBOX_RETURN_IF_ERROR(AskFirst(base::StrCat("remove ", base::Join(names, ", "),
                                                 " with all messages from ", backend.description()),
                                    options.yes, "give --yes"));
  }
  return ForEachTable(options, [&](const std::string& table) -> Result<std::string> {
    OUTBOX_ASSIGN_OR_RETURN(const auto numbers,
                            migrator->Down(ForTable(options, table), CommandDeadline()));
    if (!options.output.json) PrintDown(table, numbers);
    return DownJson(table, numbers);
  });
}

std::string StateOf(const store::TableSchema& schema) {
  if (!schema.exists) return "absent";
  if (schema.version > schema.version_latest) return "newer than this program";
  return schema.version == schema.version_latest ? "up to date" : "to be upgraded";
}

// Empty where the database has no such option.
std::string ValueOf(const store::TableSchema& schema, std::string_view name) {
  for (const store::Switch& each : schema.switches) {
    if (each.name == name) return each.value;
  }
  return "";
}

Status PrintStatus(const MigrateFlags& options, store::Backend& backend) {
  OUTBOX_ASSIGN_OR_RETURN(const auto migrator, backend.OpenMigrator(CommandDeadline()));
  std::vector<std::string> tables = options.tables;
  if (tables.empty()) {
    OUTBOX_ASSIGN_OR_RETURN(tables, migrator->Tables(CommandDeadline()));
  }
  Table shown({{.title = "TABLE", .cut = true, .width_least = 16},
               {.title = "VERSION", .brief = "VER.", .right = true},
               {.title = "LATEST", .right = true, .leave_out = 4},
               {.title = "STATE", .cut = true, .width_least = 14},
               {.title = "TOPICS", .leave_out = 3},
               {.title = "NOTIFY", .leave_out = 1},
               {.title = "ISOLATION", .leave_out = 2}});
  std::vector<std::string> json;
  for (const std::string& table : tables) {
    OUTBOX_ASSIGN_OR_RETURN(const auto schema, migrator->Inspect(table, CommandDeadline()));
    json.push_back(base::JsonObject()
                       .Add("table", table)
                       .Add("exists", schema.exists)
                       .Add("version", schema.version)
                       .Add("version_latest", schema.version_latest)
                       .Add("state", StateOf(schema))
                       .AddRaw("switches", SwitchesJson(schema.switches))
                       .Finish());
    if (options.output.jsonl && !WriteJsonLine(json.back())) return Status::Ok();
    const bool current = schema.exists && schema.version == schema.version_latest;
    shown.Add({{table},
               {std::to_string(schema.version)},
               {std::to_string(schema.version_latest)},
               {StateOf(schema), current ? Style::kGood : Style::kWarn},
               {ValueOf(schema, "topics")},
               {ValueOf(schema, "notify")},
               {ValueOf(schema, "tenant_isolation")}});
  }
  if (options.output.json) {
    PrintTablesJson(json);
  } else if (!options.output.jsonl) {
    std::cout << shown.For(STDOUT_FILENO);
  }
  return Status::Ok();
}

Status Print(const MigrateFlags& options, store::Backend& backend) {
  const store::PrintOptions print{
      .from = options.from, .to = options.to, .transaction = !options.no_transaction};
  return ForEachTable(options, [&](const std::string& table) -> Result<std::string> {
    OUTBOX_ASSIGN_OR_RETURN(const std::string sql,
                            backend.PrintMigration(ForTable(options, table), print));
    if (!options.output.json)
      std::cout << Harmless(sql, "\n\t") << (sql.ends_with('\n') ? "" : "\n");
    return base::JsonObject().Add("table", table).Add("sql", sql).Finish();
  });
}

using Step = Status (*)(const MigrateFlags&, store::Backend&);

Status WithDatabase(const MigrateFlags& options, Step step) {
  OUTBOX_ASSIGN_OR_RETURN(const auto backend, OpenDatabase(options.database));
  return step(options, *backend);
}

struct StepCommand {
  CLI::App* app;
  std::shared_ptr<MigrateFlags> options;
};

// Each step has options of its own: CLI11 reads the environment for all of them, and one would take
// OUTBOX_DB in place of the --db that another was given.
StepCommand AddStep(CLI::App& parent, Action& action, const std::string& name,
                    const std::string& help, Step step) {
  auto options = std::make_shared<MigrateFlags>();
  CLI::App* command = parent.add_subcommand(name, help);
  AddDatabaseFlag(*command, options->database);
  auto* table = command->add_option("--table", options->tables, "Outbox table; may be repeated");
  if (name != "status") table->required();
  if (name == "status") {
    AddJsonFlags(*command, options->output);
  } else {
    AddJsonFlag(*command, options->output.json);
  }
  command->callback([&action, options, step] {
    action = [options, step] { return WithDatabase(*options, step); };
  });
  return {command, options};
}

void AddSchemaFlags(const StepCommand& step) {
  CLI::App& command = *step.app;
  MigrateFlags& options = *step.options;
  command.add_option("--topics", options.topics, "The table's rule for topics: strict or relaxed")
      ->check(OneOf({"strict", "relaxed"}));
  auto* notify = command.add_flag("--notify", options.notify,
                                  "PostgreSQL: notify listening relays at each commit");
  command.add_flag("--no-notify", options.no_notify, "PostgreSQL: do not")->excludes(notify);
  command
      .add_option("--tenant-isolation", options.tenant_isolation,
                  "PostgreSQL: row level security by tenant: on or off")
      ->check(OneOf({"on", "off"}));
}

}  // namespace

void AddMigrate(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("migrate", "Create, upgrade or remove outbox tables");
  command->require_subcommand(1);
  AddSchemaFlags(AddStep(*command, action, "up", "Create or upgrade a table", Up));
  const auto [down, options] = AddStep(*command, action, "down", "Remove a table", Down);
  down->add_flag("--discard-undelivered", options->discard_undelivered,
                 "Also when undelivered messages would be lost");
  down->add_flag("--yes,-y", options->yes, "Do not ask");
  down->add_flag("--allow-remote", options->allow_remote,
                 "Also on a database that is not on this machine");
  AddStep(*command, action, "status", "Show the version of tables", PrintStatus);
  const StepCommand print =
      AddStep(*command, action, "print",
              "Print the SQL for a tool of your own; of --db only the kind matters", Print);
  AddSchemaFlags(print);
  print.app->add_option("--from", print.options->from,
                        "The version that the table has; without, it is created");
  print.app->add_option("--to", print.options->to, "The version that it is to have: the newest");
  print.app->add_flag("--no-transaction", print.options->no_transaction,
                      "Without BEGIN and COMMIT, for a tool that writes its own");
}

}  // namespace outbox::cli
