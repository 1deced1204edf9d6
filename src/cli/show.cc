#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <utility>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/database.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/status_style.h"
#include "cli/terminal.h"
#include "cli/timeline.h"
#include "cli/wrap.h"
#include "store/message_json.h"

namespace outbox::cli {
namespace {

struct ShowFlags {
  std::string database;
  std::string table;
  std::string id;
  bool json = false;
};

constexpr std::size_t kNameWidth = 15;
constexpr std::size_t kBesideMin = 40;  // columns for a value beside its name
constexpr std::size_t kValueBytesMax = std::size_t{4} << 20;

std::string When(Timestamp at) {
  return base::StrCat(base::FormatTimestamp(at), " (", FormatAge(at, Now()), ")");
}

// A value beside its name where there is room; below it, and indented, on a narrow terminal.
void PrintField(std::string_view name, const std::string& value, Style style, bool colour) {
  const std::string padded = base::StrCat(name, std::string(kNameWidth - name.size(), ' '));
  const std::size_t width = TerminalWidth(STDOUT_FILENO);
  std::vector<std::string> lines = base::Split(value, '\n');
  const bool fits = std::ranges::all_of(lines, [&](const std::string& line) {
    return width == 0 || kNameWidth + DisplayWidth(line) <= width;
  });
  if (fits) {
    std::cout << Styled(padded, Style::kDim, colour) << Styled(value, style, colour) << '\n';
    return;
  }
  const bool beside = width >= kNameWidth + kBesideMin;
  const std::string indent(beside ? kNameWidth : 2, ' ');
  std::cout << Styled(beside ? padded : std::string(name) + "\n", Style::kDim, colour);
  bool first = beside;
  for (const std::string& line : lines) {
    for (const std::string& part : BreakLines(line, width - std::min(width / 2, indent.size()))) {
      std::cout << (std::exchange(first, false) ? "" : indent) << Styled(part, style, colour)
                << '\n';
    }
  }
}

void PrintFields(const store::StoredMessage& stored) {
  const bool colour = UseColour(STDOUT_FILENO);
  const auto line = [&](std::string_view name, std::string_view value, Style style,
                        std::string_view keep = {}) {
    if (value.empty()) return;
    PrintField(name, Harmless(value, keep), style, colour);
  };
  const auto field = [&](std::string_view name, std::string_view value) {
    line(name, value, Style::kPlain);
  };
  const Message& message = stored.message;
  field("id", message.id.ToString());
  field("seq", std::to_string(message.seq));
  field("table", message.table);
  line("status", ToString(stored.status), StyleOf(stored.status));
  field("attempts", std::to_string(store::AttemptsOf(stored)));
  field("topic", message.topic);
  field("namespace", message.name_space);
  field("event_type", message.event_type);
  field("event_version", std::to_string(message.event_version));
  field("aggregate_type", message.aggregate_type);
  field("aggregate_id", message.aggregate_id);
  field("key", message.key);
  field("tenant_id", message.tenant_id ? message.tenant_id->ToString() : "");
  field("dedupe_key", message.dedupe_key);
  field("created_at", When(message.created_at));
  const std::optional<Timestamp> available_at = store::AvailableAt(stored);
  field("available_at", available_at ? When(*available_at) : "");
  field("updated_at", When(stored.updated_at));
  field("processed_at", stored.processed_at ? When(*stored.processed_at) : "");
  field("locked_by", stored.locked_by);
  field("locked_until", stored.locked_until ? When(*stored.locked_until) : "");
  line("last_error", stored.last_error, Style::kBad);
  for (const store::Delivery& delivery : stored.deliveries) {
    line("delivery",
         base::StrCat(delivery.destination, ": ", ToString(delivery.status),
                      delivery.attempts == 0
                          ? ""
                          : base::StrCat(", ", Plural(static_cast<std::size_t>(delivery.attempts),
                                                      "attempt")),
                      ", ", FormatAge(delivery.updated_at, Now()),
                      delivery.last_error.empty() ? "" : base::StrCat(": ", delivery.last_error)),
         StyleOf(delivery.status));
  }
  for (const auto& [name, value] : message.headers) {
    field("header", base::CleanError(base::StrCat(name, ": ", value), kValueBytesMax));
  }
  // JSON may stand on several lines.
  line("payload", message.payload, Style::kPlain, "\n\t");
}

Status Run(const ShowFlags& options) {
  const std::optional<Uuid> id = Uuid::Parse(options.id);
  if (!id) return Status::Invalid(base::StrCat("'", options.id, "' is not a message id (a UUID)"));
  OUTBOX_ASSIGN_OR_RETURN(const auto backend, OpenDatabase(options.database));
  OUTBOX_ASSIGN_OR_RETURN(const auto tables, TablesToLookAt(*backend, options.table));
  for (const std::string& table : tables) {
    OUTBOX_ASSIGN_OR_RETURN(const auto store, OpenIfThere(*backend, table, options.table));
    if (store == nullptr) continue;
    OUTBOX_ASSIGN_OR_RETURN(const auto found,
                            store->Get(store::Scope::All(), *id, CommandDeadline()));
    if (!found) continue;
    OUTBOX_ASSIGN_OR_RETURN(const auto attempts,
                            store->Attempts(store::Scope::All(), *id, CommandDeadline()));
    if (options.json) {
      PrintJson(ToJson(*found, attempts));
    } else {
      PrintFields(*found);
      if (!attempts.empty()) std::cout << '\n' << Timeline(*found, attempts).For(STDOUT_FILENO);
    }
    return Status::Ok();
  }
  return Status::Permanent(Code::kNotFound, base::StrCat("no message ", id->ToString(), " in ",
                                                         base::Join(tables, ", ")));
}

}  // namespace

void AddShow(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("show", "Show everything about one message");
  auto options = std::make_shared<ShowFlags>();
  AddDatabaseFlag(*command, options->database);
  AddTableFlag(*command, options->table, "Outbox table; all are searched when left out");
  command->add_option("id", options->id, "Message id")->required();
  AddJsonFlag(*command, options->json);
  command->callback([&action, options] { action = [options] { return Run(*options); }; });
}

}  // namespace outbox::cli
