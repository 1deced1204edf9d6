#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/json_object.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/database.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/table.h"
#include "store/stats_json.h"

namespace outbox::cli {
namespace {

struct StatsFlags {
  std::string database;
  std::string table;
  bool exact = false;
  JsonFlags output;
};

std::vector<Cell> ToRow(const std::string& table, const store::TableStats& stats) {
  const auto count = [](std::int64_t number, bool estimated) {
    return FormatCount(static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0)), estimated);
  };
  const auto live = [&](std::int64_t number) { return count(number, stats.live_estimated); };
  const auto alarming = [](std::int64_t number, Style style) {
    return number > 0 ? style : Style::kPlain;
  };
  return {{table},
          {live(stats.pending)},
          {live(stats.due)},
          {live(stats.retrying), alarming(stats.retrying, Style::kWarn)},
          {live(stats.processing)},
          {live(stats.stale), alarming(stats.stale, Style::kWarn)},
          {count(stats.dead, stats.dead_estimated), alarming(stats.dead, Style::kBad)},
          {count(stats.delivered, stats.delivered_estimated)},
          {stats.oldest_age ? FormatSpan(*stats.oldest_age) : ""}};
}

// A table that migrations are recorded for, and that was dropped or renamed since.
std::vector<Cell> ToAbsentRow(const std::string& table) {
  return {{table}, {"absent", Style::kWarn}, {""}, {""}, {""}, {""}, {""}, {""}, {""}};
}

Status Run(const StatsFlags& options) {
  OUTBOX_ASSIGN_OR_RETURN(const auto backend, OpenDatabase(options.database));
  OUTBOX_ASSIGN_OR_RETURN(const auto tables, TablesToLookAt(*backend, options.table));
  Table shown({{.title = "TABLE", .cut = true, .width_least = 16},
               {.title = "PENDING", .brief = "PEND", .right = true},
               {.title = "DUE", .right = true, .leave_out = 2},
               {.title = "RETRYING", .brief = "RETRY", .right = true, .leave_out = 3},
               {.title = "PROCESSING", .brief = "PROC", .right = true, .leave_out = 4},
               {.title = "STALE", .right = true, .leave_out = 5},
               {.title = "DEAD", .right = true},
               {.title = "DELIVERED", .brief = "DELIV", .right = true, .leave_out = 6},
               {.title = "OLDEST DUE", .brief = "OLDEST", .leave_out = 1}});
  std::vector<std::string> json;
  for (const std::string& name : tables) {
    const std::string table = backend->DisplayName(name);
    OUTBOX_ASSIGN_OR_RETURN(const auto store, OpenIfThere(*backend, name, options.table));
    if (store == nullptr) {
      json.push_back(base::JsonObject().Add("table", table).Add("exists", false).Finish());
      shown.Add(ToAbsentRow(table));
    } else {
      OUTBOX_ASSIGN_OR_RETURN(const auto stats,
                              store->Stats(store::Scope::All(), options.exact, CommandDeadline()));
      json.push_back(store::StatsJson(table, stats));
      shown.Add(ToRow(table, stats));
    }
    if (options.output.jsonl && !WriteJsonLine(json.back())) return Status::Ok();
  }
  if (options.output.jsonl) return Status::Ok();
  if (options.output.json) {
    PrintJson(base::JsonObject().AddRaw("tables", base::JsonArray(json)).Finish());
  } else {
    std::cout << shown.For(STDOUT_FILENO);
  }
  return Status::Ok();
}

}  // namespace

void AddStats(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("stats", "Count messages by state");
  auto options = std::make_shared<StatsFlags>();
  AddDatabaseFlag(*command, options->database);
  AddTableFlag(*command, options->table, "Outbox table; all when left out");
  command->add_flag("--exact", options->exact, "Count everything instead of estimating");
  AddJsonFlags(*command, options->output);
  command->callback([&action, options] { action = [options] { return Run(*options); }; });
}

}  // namespace outbox::cli
