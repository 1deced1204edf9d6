#include "cli/usage.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/flags.h"

namespace outbox::cli {
namespace {

using base::StrCat;

// Shorter flags resemble too many.
constexpr std::size_t kGuessedLengthMin = 5;

struct Chosen {
  const CLI::App* command;
  std::string words;  // "outboxd migrate up"

  std::string name() const {
    const std::size_t space = words.find(' ');
    return space == std::string::npos ? words : words.substr(space + 1);
  }
};

Chosen ChosenCommand(const CLI::App& app) {
  Chosen chosen{&app, app.get_name()};
  while (!chosen.command->get_subcommands().empty()) {
    chosen.command = chosen.command->get_subcommands().back();
    chosen.words += StrCat(" ", chosen.command->get_name());
  }
  return chosen;
}

std::vector<std::string> FlagsOf(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back(StrCat("--", name));
  }
  return flags;
}

std::vector<std::string> CommandsOf(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* each : command.get_subcommands({})) names.push_back(each->get_name());
  return names;
}

Status NotUnderstood(const Chosen& chosen, const std::string& message, std::string_view meant) {
  return Status::Invalid(message).WithHint(StrCat(meant.empty() ? "" : "did you mean ", meant,
                                                  meant.empty() ? "" : "? ", chosen.words,
                                                  " --help lists what there is"));
}

// The commands with this flag, in the order of the help: "list, stats, migrate status".
void CollectWith(const CLI::App& command, const std::string& flag, const std::string& words,
                 std::vector<std::string>& found) {
  if (command.get_option_no_throw(flag) != nullptr) found.push_back(words);
  for (const CLI::App* each : command.get_subcommands({})) {
    CollectWith(*each, flag, StrCat(words, words.empty() ? "" : " ", each->get_name()), found);
  }
}

bool IsFlag(const std::string& word) { return word.size() > 1 && word.starts_with("-"); }

Status Unexpected(const CLI::App& app, const Chosen& chosen,
                  const std::vector<std::string>& words) {
  const std::vector<std::string> commands = CommandsOf(*chosen.command);
  if (!commands.empty() && !IsFlag(words.front())) {
    return NotUnderstood(chosen, StrCat(chosen.name(), " has no command '", words.front(), "'"),
                         base::Nearest(words.front(), commands));
  }
  const auto flag = std::ranges::find_if(words, IsFlag);
  if (flag == words.end()) {
    return NotUnderstood(chosen, StrCat(chosen.name(), " does not take: ", base::Join(words, " ")),
                         "");
  }
  const std::string name = flag->substr(0, flag->find('='));
  const std::vector<std::string> known = FlagsOf(*chosen.command);
  if (std::ranges::find(known, name) != known.end()) {
    return Status::Invalid(StrCat(name, ": stands before the command"))
        .WithHint(StrCat("write ", name, " after the command: ", chosen.words, " ", name));
  }
  if (name == "--jsonl") {
    std::vector<std::string> streams;
    CollectWith(app, name, "", streams);
    const bool json = std::ranges::find(known, "--json") != known.end();
    return Status::Invalid(StrCat(chosen.name(), " has no flag --jsonl: it writes no list"))
        .WithHint(
            StrCat(json ? "use --json; " : "", "--jsonl is a flag of ", base::Join(streams, ", ")));
  }
  const bool guess = name.size() >= kGuessedLengthMin;
  return NotUnderstood(chosen, StrCat(chosen.name(), " has no flag ", name),
                       guess ? base::Nearest(name, known) : "");
}

// CLI11 writes "Could not convert: --limit = ten"; only numbers can fail so.
std::string NotANumber(const CLI::ConversionError& error) {
  const std::string_view what = error.what();
  const std::size_t flag = what.find("--");
  const std::size_t equals = what.find(" = ");
  if (flag == std::string_view::npos || equals == std::string_view::npos || equals < flag) {
    return std::string(what);
  }
  return StrCat(what.substr(flag, equals - flag), ": '", what.substr(equals + 3),
                "' is not a number in its range");
}

}  // namespace

// CLI11 hands words that it cannot place up to the parents of a command, which mixes them.
std::vector<std::string> LeftOver(const CLI::App& app, std::span<const std::string> arguments) {
  std::vector<std::string> left = app.remaining(true);
  std::vector<std::string> in_order;
  for (const std::string& argument : arguments) {
    const auto found = std::ranges::find(left, argument);
    if (found == left.end()) continue;
    if (*found != "--") in_order.push_back(*found);
    left.erase(found);
  }
  return in_order;
}

Status ExplainUsage(const CLI::App& app, std::span<const std::string> arguments,
                    const CLI::ParseError& error) {
  const Chosen chosen = ChosenCommand(app);
  const std::vector<std::string> left = LeftOver(app, arguments);
  if (!left.empty()) return Unexpected(app, chosen, left);
  if (const auto* conversion = dynamic_cast<const CLI::ConversionError*>(&error)) {
    return NotUnderstood(chosen, NotANumber(*conversion), "");
  }
  const std::vector<std::string> commands = CommandsOf(*chosen.command);
  if (!commands.empty() && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    return NotUnderstood(
        chosen, StrCat(chosen.name(), " needs a command: ", base::Join(commands, ", ")), "");
  }
  return NotUnderstood(chosen, error.what(), "");
}

Status RefuseEmptyFlags(const CLI::App& app) {
  for (const CLI::Option* option : ChosenCommand(app).command->get_options()) {
    // Settings have types, of which some know an empty value.
    if (option->count() == 0 || option->get_group() == kSettingsGroup) continue;
    if (std::ranges::none_of(option->results(), &std::string::empty)) continue;
    return Status::Invalid(StrCat(option->get_name(), ": is empty"))
        .WithHint(StrCat("leave ", option->get_name(), " out, or give it a value"));
  }
  return Status::Ok();
}

Status CheckHelp(const CLI::App& app, std::span<const std::string> arguments) {
  if (arguments.empty() || arguments.back() != "--help") return Status::Ok();
  Chosen chosen{&app, app.get_name()};
  for (const std::string& word : arguments) {
    if (IsFlag(word)) break;
    const std::vector<std::string> commands = CommandsOf(*chosen.command);
    if (commands.empty()) break;
    if (std::ranges::find(commands, word) == commands.end()) {
      const std::vector<std::string> words{word};
      return chosen.command == &app ? UnknownCommand(word) : Unexpected(app, chosen, words);
    }
    chosen = {chosen.command->get_subcommand(word), StrCat(chosen.words, " ", word)};
  }
  return Status::Ok();
}

Status UnknownCommand(std::string_view word) {
  Status unknown = Status::Invalid(StrCat("there is no command '", word, "'"));
  if (word == "replay") {
    return std::move(unknown).WithHint(
        "outboxd retry sends failed and dead messages again; to repeat a delivered one, enqueue "
        "its "
        "payload anew: outboxd enqueue");
  }
  std::vector<std::string> known;
  for (const Command& command : Commands()) known.emplace_back(command.name);
  const std::string_view nearest = base::Nearest(word, known);
  return std::move(unknown).WithHint(nearest.empty() ? StrCat("commands: ", base::Join(known, ", "))
                                                     : StrCat("did you mean '", nearest, "'?"));
}

}  // namespace outbox::cli
