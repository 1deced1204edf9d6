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
#include "cli/wrap.h"
#include "store/control_json.h"

namespace outbox::cli {
namespace {

struct RelaysFlags {
  std::string database;
  JsonFlags output;
};

std::vector<Cell> ToRelayRow(const store::ListedRelay& listed, const store::RelayPause* pause) {
  const store::RelayBeat& relay = listed.relay;
  const std::string leader = !relay.leading ? "" : *relay.leading && !listed.gone ? "yes" : "no";
  return {{relay.table},
          {relay.sink},
          {base::StrCat(listed.process.host, ":", listed.process.pid)},
          {listed.gone ? "gone" : relay.state, listed.gone ? Style::kBad : Style::kPlain},
          {leader},
          {pause == nullptr ? "" : base::StrCat("by ", pause->by), Style::kWarn},
          {FormatCount(relay.in_flight)},
          {FormatCount(relay.delivered)},
          {FormatCount(relay.failed)},
          {FormatSpan(listed.beat_age)}};
}

void PrintRelays(const std::vector<store::ListedRelay>& relays,
                 const std::vector<store::RelayPause>& pauses) {
  Table shown({{.title = "TABLE", .cut = true, .width_least = 16},
               {.title = "SINK", .cut = true, .leave_out = 1},
               {.title = "PROCESS", .cut = true, .width_least = 12, .leave_out = 4},
               {.title = "STATE"},
               {.title = "LEADER", .leave_out = 7},
               {.title = "PAUSED", .cut = true, .leave_out = 2},
               {.title = "IN FLIGHT", .brief = "FLIGHT", .right = true, .leave_out = 8},
               {.title = "DELIVERED", .brief = "DELIV", .right = true, .leave_out = 6},
               {.title = "FAILED", .right = true, .leave_out = 5},
               {.title = "LAST BEAT", .brief = "BEAT", .leave_out = 3}});
  for (const store::ListedRelay& listed : relays) {
    shown.Add(ToRelayRow(listed, store::FindPause(pauses, listed.relay.table, listed.relay.sink)));
  }
  if (relays.empty() && IsTerminal(STDOUT_FILENO)) {
    std::cout << "no relay runs\n";
  } else {
    std::cout << shown.For(STDOUT_FILENO);
  }
  const auto print = IsTerminal(STDOUT_FILENO) ? PrintLine : PrintNote;
  for (const store::RelayPause& pause : pauses) {
    print(base::StrCat("paused: ", Harmless(base::StrCat(
                                       pause.table, pause.sink.empty() ? "" : "/", pause.sink,
                                       " since ", base::FormatTimestamp(pause.since), " by ",
                                       pause.by, pause.reason.empty() ? "" : ": ", pause.reason))));
  }
}

Status RunRelays(const RelaysFlags& options) {
  OUTBOX_ASSIGN_OR_RETURN(const auto backend, OpenDatabase(options.database));
  const auto control = backend->OpenControl();
  OUTBOX_ASSIGN_OR_RETURN(const auto relays, control->Relays(CommandDeadline()));
  OUTBOX_ASSIGN_OR_RETURN(const auto pauses, control->Pauses(CommandDeadline()));
  if (!options.output.any()) {
    PrintRelays(relays, pauses);
    return Status::Ok();
  }
  std::vector<std::string> relays_json, pauses_json;
  for (const store::ListedRelay& listed : relays) {
    relays_json.push_back(
        ToJson(listed, store::FindPause(pauses, listed.relay.table, listed.relay.sink)));
    if (options.output.jsonl && !WriteJsonLine(relays_json.back())) break;
  }
  if (options.output.jsonl) return Status::Ok();
  for (const store::RelayPause& pause : pauses) pauses_json.push_back(ToJson(pause));
  PrintJson(base::JsonObject()
                .AddRaw("relays", base::JsonArray(relays_json))
                .AddRaw("pauses", base::JsonArray(pauses_json))
                .Finish());
  return Status::Ok();
}

}  // namespace

void AddRelays(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("relays", "List the relays of all processes, and what is paused");
  auto options = std::make_shared<RelaysFlags>();
  AddDatabaseFlag(*command, options->database);
  AddJsonFlags(*command, options->output);
  command->callback([&action, options] { action = [options] { return RunRelays(*options); }; });
}

}  // namespace outbox::cli
