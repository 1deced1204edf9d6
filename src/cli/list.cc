#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include "base/json_object.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/database.h"
#include "cli/fill_page.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/status_style.h"
#include "cli/table.h"
#include "cli/when.h"
#include "cli/wrap.h"
#include "store/message_json.h"

namespace outbox::cli {
namespace {

struct ListFlags {
  std::string database;
  std::string table;
  std::string status;
  std::string tenant_id;
  std::string since;
  std::string until;
  store::ListFilter filter;
  bool limited = false;  // --limit is given
  JsonFlags output;
};

// Rows that --jsonl reads at a time.
constexpr std::size_t kPageRows = 1000;

Result<store::Scope> MakeScope(const ListFlags& options) {
  if (options.tenant_id.empty()) return store::Scope::All();
  const std::optional<Uuid> tenant = Uuid::Parse(options.tenant_id);
  if (tenant) return store::Scope::Tenant(*tenant);
  return Status::Invalid(base::StrCat("--tenant: '", options.tenant_id, "' is not a UUID"));
}

Result<store::ListFilter> MakeFilter(const ListFlags& options) {
  store::ListFilter filter = options.filter;
  if (!options.status.empty()) filter.status = store::ParseListStatus(options.status);
  OUTBOX_ASSIGN_OR_RETURN(filter.created_from, ParseWhen("--since", options.since));
  OUTBOX_ASSIGN_OR_RETURN(filter.created_until, ParseWhen("--until", options.until));
  return filter;
}

void PrintPage(const store::ListPage& page) {
  std::vector<std::string> rows;
  for (const store::StoredMessage& row : page.rows) rows.push_back(ToJson(row, false));
  PrintJson(base::JsonObject()
                .AddRaw("messages", base::JsonArray(rows))
                .AddUnlessEmpty("next", page.next)
                .Finish());
}

// Where to go on, if there is more.
void PrintNext(const std::string& next, bool whole) {
  if (next.empty()) return;
  PrintNote(base::StrCat(whole ? "more" : "a part of the table was searched; search on",
                         ": --after ", next));
}

void PrintTable(const FilledPage& filled) {
  const store::ListPage& page = filled.page;
  Table table({{.title = "SEQ", .right = true, .leave_out = 8},
               {.title = "ID"},
               {.title = "STATUS", .leave_out = 1},
               {.title = "TOPIC", .cut = true, .width_least = 12, .leave_out = 2},
               {.title = "KEY", .cut = true, .leave_out = 7},
               {.title = "ATTEMPTS", .brief = "ATT.", .right = true, .leave_out = 4},
               {.title = "CREATED", .leave_out = 6},
               {.title = "DUE", .leave_out = 5},
               {.title = "LAST ERROR", .cut = true, .width_least = 12, .leave_out = 3}});
  const Timestamp now = Now();
  for (const store::StoredMessage& row : page.rows) {
    const bool waits = row.status == MessageStatus::kPending;
    table.Add({{std::to_string(row.message.seq)},
               {row.message.id.ToString()},
               {std::string(ToString(row.status)), StyleOf(row.status)},
               {row.message.topic},
               {row.message.key},
               {std::to_string(row.message.attempt)},
               {FormatAge(row.message.created_at, now), Style::kDim},
               {waits ? FormatAge(row.message.available_at, now) : "", Style::kDim},
               {row.last_error}});
  }
  if (!table.empty() || !IsTerminal(STDOUT_FILENO)) {
    std::cout << table.For(STDOUT_FILENO) << std::flush;
  } else if (filled.whole) {
    std::cout << "no messages\n";
  }
  PrintNext(page.next, filled.whole);
}

// Everything from filter.after on, or filter.limit rows of it, a page at a time.
Status StreamJson(store::InspectStore& store, const store::Scope& scope, store::ListFilter filter,
                  std::optional<std::size_t> left) {
  do {
    filter.limit = std::min(kPageRows, left.value_or(kPageRows));
    OUTBOX_ASSIGN_OR_RETURN(const store::ListPage page,
                            store.List(scope, filter, CommandDeadline()));
    for (const store::StoredMessage& row : page.rows) PrintJson(ToJson(row, false));
    if (left) *left -= page.rows.size();
    filter.after = page.next;
    // Who reads no more, as head does, has seen enough.
    if (!std::cout.flush()) return Status::Ok();
  } while (!filter.after.empty() && left != 0);
  PrintNext(filter.after, true);
  return Status::Ok();
}

Status Run(const ListFlags& options) {
  OUTBOX_ASSIGN_OR_RETURN(const store::Scope scope, MakeScope(options));
  OUTBOX_ASSIGN_OR_RETURN(const store::ListFilter filter, MakeFilter(options));
  OUTBOX_RETURN_IF_ERROR(Validate(filter, scope));
  OUTBOX_ASSIGN_OR_RETURN(const auto backend, OpenDatabase(options.database));
  OUTBOX_ASSIGN_OR_RETURN(const std::string table, TableToLookAt(*backend, options.table));
  OUTBOX_ASSIGN_OR_RETURN(const auto store, backend->OpenInspect(table, CommandDeadline()));
  if (options.output.jsonl) {
    return StreamJson(*store, scope, filter,
                      options.limited ? std::optional(filter.limit) : std::nullopt);
  }
  OUTBOX_ASSIGN_OR_RETURN(const auto filled, FillPage(*store, scope, filter, CommandDeadline()));
  options.output.json ? PrintPage(filled.page) : PrintTable(filled);
  return Status::Ok();
}

}  // namespace

void AddList(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("list", "List messages: the backlog and the dead");
  auto options = std::make_shared<ListFlags>();
  AddDatabaseFlag(*command, options->database);
  AddTableFlag(*command, options->table, "Outbox table; may be left out when there is only one");
  command
      ->add_option("--status", options->status,
                   "Only this status; failed: pending, with attempts behind it; all: of a tenant")
      ->check(OneOf({"pending", "failed", "processing", "delivered", "dead", "all"}));
  command->add_option("--topic", options->filter.topic,
                      "Only this topic, or a pattern such as shop.#");
  command->add_option("--key", options->filter.key, "Only this key");
  command->add_option("--tenant", options->tenant_id, "Only this tenant, newest first");
  command->add_option("--since", options->since,
                      base::StrCat("Only created at or after ", kWhenHelp));
  command->add_option("--until", options->until, base::StrCat("Only created before ", kWhenHelp));
  command->add_option("--error", options->filter.error_contains,
                      "Only with this text in the last error");
  auto* type = command->add_option("--aggregate-type", options->filter.aggregate_type,
                                   "With --aggregate-id: the history of one aggregate");
  auto* id =
      command->add_option("--aggregate-id", options->filter.aggregate_id, "With --aggregate-type");
  type->needs(id);
  id->needs(type);
  auto* limit = command->add_option("--limit", options->filter.limit,
                                    "Messages a page; with --jsonl, at most");
  limit->check(CLI::Range(std::size_t{1}, store::kListLimitMax))->capture_default_str();
  command->add_option("--after", options->filter.after, "The page after this one");
  AddJsonFlags(*command, options->output);
  command->callback([&action, limit, options] {
    options->limited = limit->count() > 0;
    action = [options] { return Run(*options); };
  });
}

}  // namespace outbox::cli
