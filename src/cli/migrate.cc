#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/json_object.h"
#include "cli/commands.h"
#include "cli/database.h"
#include "cli/flags.h"
#include "cli/table.h"

namespace outbox::cli {
namespace {

struct MigrateFlags {
  std::string database;
  std::vector<std::string> tables;
  std::string topics;
  bool notify = false;
  bool no_notify = false;
  std::string tenant_isolation;
  bool discard_undelivered = false;
  bool json = false;
};

using Migrator = store::Migrator;

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

void PrintChange(const MigrateFlags& options, const std::string& table, std::string_view verb,
                 const std::vector<int>& numbers) {
  if (options.json) {
    std::vector<std::string> list;
    list.reserve(numbers.size());
    for (const int number : numbers) list.push_back(std::to_string(number));
    std::cout << base::JsonObject().Add("table", table).AddRaw(verb, base::JsonArray(list)).Finish()
              << '\n';
  } else if (numbers.empty()) {
    std::cout << table << ": nothing to do\n";
  } else {
    for (const int number : numbers) {
      std::cout << table << ": " << verb << " migration " << number << '\n';
    }
  }
}

Status Up(const MigrateFlags& options, Migrator& migrator) {
  for (const std::string& table : options.tables) {
    OUTBOX_ASSIGN_OR_RETURN(const auto numbers,
                            migrator.Up(ForTable(options, table), CommandDeadline()));
    PrintChange(options, table, "applied", numbers);
  }
  return Status::Ok();
}

Status Down(const MigrateFlags& options, Migrator& migrator) {
  for (const std::string& table : options.tables) {
    OUTBOX_ASSIGN_OR_RETURN(const auto numbers,
                            migrator.Down(ForTable(options, table), CommandDeadline()));
    PrintChange(options, table, "reverted", numbers);
  }
  return Status::Ok();
}

std::string StateOf(const store::TableSchema& schema) {
  if (!schema.exists) return "absent";
  if (schema.version > schema.version_latest) return "newer than this program";
  return schema.version == schema.version_latest ? "up to date" : "to be upgraded";
}

Status PrintStatus(const MigrateFlags& options, Migrator& migrator) {
  std::vector<std::string> tables = options.tables;
  if (tables.empty()) {
    OUTBOX_ASSIGN_OR_RETURN(tables, migrator.Tables(CommandDeadline()));
  }
  Table shown({{.title = "TABLE"},
               {.title = "VERSION", .right = true},
               {.title = "LATEST", .right = true},
               {.title = "STATE"}});
  for (const std::string& table : tables) {
    OUTBOX_ASSIGN_OR_RETURN(const auto schema, migrator.Inspect(table, CommandDeadline()));
    if (options.json) {
      std::cout << base::JsonObject()
                       .Add("table", table)
                       .Add("exists", schema.exists)
                       .Add("version", schema.version)
                       .Add("version_latest", schema.version_latest)
                       .Add("state", StateOf(schema))
                       .Finish()
                << '\n';
    } else {
      const bool current = schema.exists && schema.version == schema.version_latest;
      shown.Add({{table},
                 {std::to_string(schema.version)},
                 {std::to_string(schema.version_latest)},
                 {StateOf(schema), current ? Style::kGood : Style::kWarn}});
    }
  }
  if (!options.json) std::cout << shown.For(STDOUT_FILENO);
  return Status::Ok();
}

Status Print(const MigrateFlags& options, Migrator& migrator) {
  for (const std::string& table : options.tables) {
    OUTBOX_ASSIGN_OR_RETURN(const std::string sql, migrator.Print(ForTable(options, table)));
    if (options.json) {
      std::cout << base::JsonObject().Add("table", table).Add("sql", sql).Finish() << '\n';
    } else {
      std::cout << sql << (sql.ends_with('\n') ? "" : "\n");
    }
  }
  return Status::Ok();
}

using Step = Status (*)(const MigrateFlags&, Migrator&);

Status WithMigrator(const MigrateFlags& options, Step step) {
  OUTBOX_ASSIGN_OR_RETURN(const auto backend, OpenDatabase(options.database));
  OUTBOX_ASSIGN_OR_RETURN(const auto migrator, backend->OpenMigrator(CommandDeadline()));
  return step(options, *migrator);
}

CLI::App* AddStep(CLI::App& parent, Action& action, const std::shared_ptr<MigrateFlags>& options,
                  const std::string& name, const std::string& help, Step step) {
  CLI::App* command = parent.add_subcommand(name, help);
  AddDatabaseFlag(*command, options->database);
  auto* table = command->add_option("--table", options->tables, "Outbox table; may be repeated");
  if (name != "status") table->required();
  AddJsonFlag(*command, options->json);
  command->callback([&action, options, step] {
    action = [options, step] { return WithMigrator(*options, step); };
  });
  return command;
}

void AddSchemaFlags(CLI::App& command, MigrateFlags& options) {
  command.add_option("--topics", options.topics, "The table's rule for topics: strict or relaxed")
      ->check(CLI::IsMember({"strict", "relaxed"}));
  auto* notify = command.add_flag("--notify", options.notify,
                                  "PostgreSQL: notify listening relays at each commit");
  command.add_flag("--no-notify", options.no_notify, "PostgreSQL: do not")->excludes(notify);
  command
      .add_option("--tenant-isolation", options.tenant_isolation,
                  "PostgreSQL: row level security by tenant: on or off")
      ->check(CLI::IsMember({"on", "off"}));
}

}  // namespace

void AddMigrate(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("migrate", "Create, upgrade or remove outbox tables");
  command->require_subcommand(1);
  auto options = std::make_shared<MigrateFlags>();
  AddSchemaFlags(*AddStep(*command, action, options, "up", "Create or upgrade a table", Up),
                 *options);
  AddStep(*command, action, options, "down", "Remove a table", Down)
      ->add_flag("--discard-undelivered", options->discard_undelivered,
                 "Also when undelivered messages would be lost");
  AddStep(*command, action, options, "status", "Show the version of tables", PrintStatus);
  AddSchemaFlags(
      *AddStep(*command, action, options, "print", "Print the SQL for a tool of your own", Print),
      *options);
}

}  // namespace outbox::cli
