#include "cli/repair.h"

#include <unistd.h>

#include <iostream>
#include <limits>

#include "base/json_object.h"
#include "base/text.h"
#include "cli/actor.h"
#include "cli/consent.h"
#include "cli/database.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/progress.h"
#include "cli/status_style.h"
#include "cli/table.h"
#include "cli/when.h"
#include "cli/wrap.h"

namespace outbox::cli {
namespace {

using base::StrCat;

// Rows a statement changes, so that none holds its locks for long.
constexpr std::size_t kStep = 1000;
constexpr std::size_t kShownMax = 20;
constexpr std::size_t kIdsMax = 1000;

Status RefuseWithIds(const RepairOptions& options, std::string_view flag,
                     const std::string& value) {
  if (value.empty() || options.ids.empty()) return Status::Ok();
  return Status::Invalid(StrCat(flag, ": goes with --all-dead or --all-failed only"));
}

Result<store::RepairTarget> MakeTarget(const RepairOptions& options) {
  const bool filtered = options.all_dead || options.all_failed;
  if (filtered == !options.ids.empty() || (options.all_dead && options.all_failed)) {
    return Status::Invalid("say which messages: ids, --all-dead or --all-failed")
        .WithHint("outboxd list --status dead shows them");
  }
  OUTBOX_RETURN_IF_ERROR(RefuseWithIds(options, "--topic", options.topic));
  OUTBOX_RETURN_IF_ERROR(RefuseWithIds(options, "--since", options.since));
  OUTBOX_RETURN_IF_ERROR(RefuseWithIds(options, "--until", options.until));
  OUTBOX_RETURN_IF_ERROR(RefuseWithIds(options, "--error", options.error));
  if (options.ids.size() > kIdsMax) {
    return Status::Invalid(StrCat("more than ", kIdsMax, " ids at once"));
  }
  store::RepairTarget target;
  if (filtered) {
    target.filter = store::RepairFilter{
        .status = options.all_dead ? store::ListStatus::kDead : store::ListStatus::kFailed,
        .topic = options.topic,
        .created_from = {},
        .created_until = {},
        .error_contains = options.error};
    OUTBOX_ASSIGN_OR_RETURN(target.filter->created_from, ParseWhen("--since", options.since));
    OUTBOX_ASSIGN_OR_RETURN(target.filter->created_until, ParseWhen("--until", options.until));
    OUTBOX_RETURN_IF_ERROR(Validate(target));
  }
  for (const std::string& text : options.ids) {
    const std::optional<Uuid> id = Uuid::Parse(text);
    if (!id) return Status::Invalid(StrCat("'", text, "' is not a message id (a UUID)"));
    target.ids.push_back(*id);
  }
  return target;
}

// The rows themselves when a few are named, so that a mistyped id is seen before it matters.
Status ShowTargets(store::InspectStore& store, const store::RepairTarget& target) {
  Table table({{.title = "ID"},
               {.title = "STATUS", .leave_out = 1},
               {.title = "TOPIC", .cut = true, .width_least = 12, .leave_out = 2},
               {.title = "ATTEMPTS", .brief = "ATT.", .right = true, .leave_out = 4},
               {.title = "LAST ERROR", .cut = true, .width_least = 12, .leave_out = 3}});
  for (std::size_t i = 0; i < std::min(target.ids.size(), kShownMax); ++i) {
    OUTBOX_ASSIGN_OR_RETURN(const auto found,
                            store.Get(store::Scope::All(), target.ids[i], CommandDeadline()));
    if (found) {
      table.Add({{target.ids[i].ToString()},
                 {std::string(ToString(found->status)), StyleOf(found->status)},
                 {found->message.topic},
                 {std::to_string(store::AttemptsOf(*found))},
                 {found->last_error}});
    } else {
      table.Add({{target.ids[i].ToString()}, {"not found", Style::kBad}, {""}, {""}, {""}});
    }
  }
  if (!table.empty()) std::cerr << table.For(STDERR_FILENO);
  if (target.ids.size() > kShownMax) {
    PrintNote(StrCat("and ", target.ids.size() - kShownMax, " more"));
  }
  return Status::Ok();
}

// "; ID is being delivered until …" of those that were named and can be repaired later.
Result<std::string> UnderWay(store::InspectStore& store, const store::RepairTarget& target) {
  std::string text;
  for (std::size_t i = 0; i < std::min(target.ids.size(), kShownMax); ++i) {
    OUTBOX_ASSIGN_OR_RETURN(const auto found,
                            store.Get(store::Scope::All(), target.ids[i], CommandDeadline()));
    if (!found || found->status != MessageStatus::kProcessing || !found->locked_until) continue;
    text += StrCat("; the lease of ", target.ids[i].ToString(), " runs until ",
                   base::FormatTimestamp(*found->locked_until));
  }
  return text;
}

// For the audit.
std::string FilterJson(const store::RepairTarget& target) {
  base::JsonObject json;
  if (const auto& filter = target.filter) {
    const auto time = [](const std::optional<Timestamp>& at) {
      return at ? base::FormatTimestamp(*at) : std::string();
    };
    json.Add("status", filter->status == store::ListStatus::kDead ? "dead" : "failed")
        .AddUnlessEmpty("topic", filter->topic)
        .AddUnlessEmpty("error", filter->error_contains)
        .AddUnlessEmpty("created_from", time(filter->created_from))
        .AddUnlessEmpty("created_until", time(filter->created_until));
    return json.Finish();
  }
  std::vector<std::string> ids;
  for (const Uuid& id : target.ids) ids.push_back(base::JsonQuote(id.ToString()));
  return json.AddRaw("ids", base::JsonArray(ids)).Finish();
}

Result<std::size_t> Change(const Repair& repair, store::InspectStore& store,
                           store::RepairTarget target, std::size_t planned) {
  target.audit = store::Audit{
      .actor = OsActor(), .request_id = {}, .filter = FilterJson(target), .matched = planned};
  Progress progress(std::string(repair.imperative), planned);
  std::size_t changed = 0;
  // No further than planned: a relay may turn a retried message dead again while we go on.
  while (changed < planned) {
    OUTBOX_ASSIGN_OR_RETURN(
        const std::size_t step,
        (store.*repair.call)(store::Scope::All(), target, false, std::min(kStep, planned - changed),
                             CommandDeadline()));
    if (step == 0) break;
    changed += step;
    progress.Update(changed, Plural(changed, "message"));
  }
  return changed;
}

void PrintOutcome(const Repair& repair, const RepairOptions& options, const std::string& table,
                  std::size_t matched, std::size_t changed) {
  if (options.json) {
    PrintJson(base::JsonObject()
                  .Add("table", table)
                  .Add("matched", matched)
                  .Add("changed", changed)
                  .Add("dry_run", options.dry_run)
                  .Finish());
  } else if (options.dry_run) {
    PrintLine(StrCat(Plural(matched, "message"), " of ", table, " would be ", repair.done));
  } else {
    PrintLine(StrCat(Plural(changed, "message"), " of ", table, " ", repair.done));
  }
}

}  // namespace

void AddRepairFlags(CLI::App& command, RepairOptions& options) {
  AddDatabaseFlag(command, options.database);
  AddTableFlag(command, options.table, "Outbox table")->required();
  command.add_option("ids", options.ids, "Message ids");
  command.add_flag("--all-dead", options.all_dead, "All dead messages");
  command.add_flag("--all-failed", options.all_failed,
                   "All messages that wait for a retry: pending, with attempts behind them");
  command.add_option("--topic", options.topic,
                     "With --all-…: only this topic, or a pattern such as shop.#");
  command.add_option("--since", options.since,
                     StrCat("With --all-…: only created at or after ", kWhenHelp));
  command.add_option("--until", options.until,
                     StrCat("With --all-…: only created before ", kWhenHelp));
  command.add_option("--error", options.error,
                     "With --all-…: only with this text in the last error");
  command.add_flag("--dry-run", options.dry_run, "Only say how many messages would change");
  command.add_flag("--yes,-y", options.yes, "Do not ask");
  command.add_flag("--allow-remote", options.allow_remote,
                   "Also on a database that is not on this machine");
  AddJsonFlag(command, options.json);
}

Status RunRepair(const Repair& repair, const RepairOptions& options) {
  OUTBOX_ASSIGN_OR_RETURN(const store::RepairTarget target, MakeTarget(options));
  OUTBOX_ASSIGN_OR_RETURN(const auto backend, OpenDatabase(options.database));
  OUTBOX_RETURN_IF_ERROR(RequireLocal(*backend, options.allow_remote));
  OUTBOX_ASSIGN_OR_RETURN(const auto store, backend->OpenInspect(options.table, CommandDeadline()));
  const std::string table = backend->DisplayName(options.table);
  OUTBOX_ASSIGN_OR_RETURN(
      const std::size_t matched,
      (store.get()->*repair.call)(store::Scope::All(), target, true,
                                  std::numeric_limits<std::int32_t>::max(), CommandDeadline()));
  if (!options.json) OUTBOX_RETURN_IF_ERROR(ShowTargets(*store, target));
  if (options.dry_run || (matched == 0 && target.filter)) {
    PrintOutcome(repair, options, table, matched, 0);
    return Status::Ok();
  }
  if (matched == 0) {
    OUTBOX_ASSIGN_OR_RETURN(const std::string under_way, UnderWay(*store, target));
    return Status::Permanent(Code::kNotFound,
                             StrCat("none of these messages of ", table, " can be ", repair.done))
        .WithHint(StrCat("retry takes failed and dead messages, delete pending and dead ones; both "
                         "take one whose lease has expired",
                         under_way));
  }
  OUTBOX_RETURN_IF_ERROR(AskFirst(StrCat(repair.imperative, " ", Plural(matched, "message"), " in ",
                                         table, ", ", backend->description()),
                                  options.yes, "give --yes, or --dry-run to look only"));
  OUTBOX_ASSIGN_OR_RETURN(const std::size_t changed, Change(repair, *store, target, matched));
  PrintOutcome(repair, options, table, matched, changed);
  return Status::Ok();
}

}  // namespace outbox::cli
