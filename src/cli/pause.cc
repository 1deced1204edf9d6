#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "base/json_object.h"
#include "base/text.h"
#include "cli/actor.h"
#include "cli/commands.h"
#include "cli/database.h"
#include "cli/flags.h"
#include "cli/terminal.h"
#include "cli/wrap.h"
#include "store/control_store.h"

namespace outbox::cli {
namespace {

using base::StrCat;

constexpr std::size_t kReasonBytesMax = 500;

struct PauseFlags {
  std::string database;
  std::string table;
  std::string sink;
  std::string reason;
  bool json = false;
};

// A sink nobody serves is a typing error.
Status CheckSink(store::ControlStore& control, const std::string& table, const std::string& sink) {
  OUTBOX_ASSIGN_OR_RETURN(const auto relays, control.Relays(CommandDeadline()));
  std::vector<std::string> known;
  for (const store::ListedRelay& listed : relays) {
    if (listed.relay.table != table || listed.gone) continue;
    if (listed.relay.sink == sink) return Status::Ok();
    if (!listed.relay.sink.empty()) known.push_back(listed.relay.sink);
  }
  return Status::Permanent(Code::kNotFound,
                           StrCat("no relay of ", table, " serves the sink '", sink, "'"))
      .WithHint(known.empty() ? "leave --sink out to pause the whole table"
                              : StrCat("sinks: ", base::Join(known, ", ")));
}

Status Turn(const PauseFlags& options, bool pause) {
  if (options.reason.size() > kReasonBytesMax || !base::IsValidUtf8(options.reason)) {
    return Status::Invalid(StrCat("--reason: is not UTF-8 of at most ", kReasonBytesMax, " bytes"));
  }
  OUTBOX_ASSIGN_OR_RETURN(const auto backend, OpenDatabase(options.database));
  // Says what is wrong with the table's name, or that it is not there.
  OUTBOX_RETURN_IF_ERROR(backend->OpenInspect(options.table, CommandDeadline()).error());
  const std::string table = backend->DisplayName(options.table);
  const auto control = backend->OpenControl();
  if (pause && !options.sink.empty()) {
    OUTBOX_RETURN_IF_ERROR(CheckSink(*control, table, options.sink));
  }
  const store::Audit audit{.actor = OsActor(),
                           .request_id = {},
                           .filter = base::JsonObject()
                                         .AddUnlessEmpty("sink", options.sink)
                                         .AddUnlessEmpty("reason", options.reason)
                                         .Finish()};
  OUTBOX_ASSIGN_OR_RETURN(const std::size_t changed,
                          pause ? control->Pause({.table = table,
                                                  .sink = options.sink,
                                                  .since = {},
                                                  .by = audit.actor,
                                                  .reason = options.reason},
                                                 audit, CommandDeadline())
                                : control->Resume(table, options.sink, audit, CommandDeadline()));
  if (options.json) {
    PrintJson(base::JsonObject()
                  .Add("table", table)
                  .AddUnlessEmpty("sink", options.sink)
                  .Add("action", pause ? "pause" : "resume")
                  .Add("changed", changed > 0)
                  .Finish());
    return Status::Ok();
  }
  const std::string what = options.sink.empty() ? table : StrCat(table, "/", options.sink);
  if (changed == 0) {
    PrintLine(StrCat(what, pause ? " was paused already" : " was not paused"));
  } else {
    PrintLine(StrCat(what, pause ? " is paused" : " goes on",
                     ": every relay knows within its heartbeat"));
  }
  return Status::Ok();
}

CLI::App* AddTurn(CLI::App& app, Action& action, const char* name, const char* help, bool pause) {
  CLI::App* command = app.add_subcommand(name, help);
  auto options = std::make_shared<PauseFlags>();
  AddDatabaseFlag(*command, options->database);
  AddTableFlag(*command, options->table, "Outbox table")->required();
  command->add_option("--sink", options->sink,
                      "Only the relays of this sink of a table with routes");
  command->add_option("--reason", options->reason, "For people, and for the audit");
  AddJsonFlag(*command, options->json);
  command->callback(
      [&action, options, pause] { action = [options, pause] { return Turn(*options, pause); }; });
  return command;
}

}  // namespace

void AddPause(CLI::App& app, Action& action) {
  AddTurn(app, action, "pause", "Pause the relays of a table in every process, until resume", true);
}

void AddResume(CLI::App& app, Action& action) {
  AddTurn(app, action, "resume", "Let the relays of a table go on", false);
}

}  // namespace outbox::cli
