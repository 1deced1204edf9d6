#include "tests/e2e/support/commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace outbox::testing {
namespace {

// The names that a help text lists under its headings for commands.
Words ListedIn(const std::string& help, const Words& headings) {
  Words names;
  bool commands = false;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with(":")) commands = std::ranges::find(headings, line) != headings.end();
    if (!commands || !line.starts_with("  ") || line.starts_with("   ")) continue;
    names.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return names;
}

}  // namespace

Finished RunOutboxd(const Words& arguments, const std::map<std::string, std::string>& environment) {
  return Process::Run(Words{OUTBOXD_PATH} + arguments, {.environment = environment});
}

std::string HelpOf(const Words& command) {
  return RunOutboxd(command + Words{"--help"}, {}).standard_output;
}

std::vector<Words> AllCommands() {
  std::vector<Words> commands;
  for (const std::string& name :
       ListedIn(HelpOf({}), {"Deliver:", "Look:", "Repair:", "Set up:", "Try:"})) {
    if (name == "help") continue;
    const Words steps = ListedIn(HelpOf({name}), {"Subcommands:"});
    for (const std::string& step : steps) commands.push_back({name, step});
    if (steps.empty()) commands.push_back({name});
  }
  EXPECT_GE(commands.size(), 21u) << "the help is read wrongly";
  return commands;
}

}  // namespace outbox::testing
