// The commands of the program. A new one is a file, a line here and a line in commands.cc.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "outbox/status.h"

namespace CLI {
class App;
}

namespace outbox::cli {

// What a command hands back once its arguments are understood. A failure is printed by main and
// becomes the exit code: 2 for kInvalidArgument (the caller's input), 1 for everything else.
using Action = std::function<Status()>;

struct Command {
  std::string_view name;
  std::string_view group;  // heading in the help
  // Adds the command to `app`; running it sets `action`.
  void (*add)(CLI::App& app, Action& action);
};

std::span<const Command> Commands();

void AddServe(CLI::App& app, Action& action);
void AddRelay(CLI::App& app, Action& action);
void AddMigrate(CLI::App& app, Action& action);
void AddEnqueue(CLI::App& app, Action& action);
void AddList(CLI::App& app, Action& action);
void AddShow(CLI::App& app, Action& action);
void AddStats(CLI::App& app, Action& action);
void AddRelays(CLI::App& app, Action& action);
void AddRetry(CLI::App& app, Action& action);
void AddDelete(CLI::App& app, Action& action);
void AddPause(CLI::App& app, Action& action);
void AddResume(CLI::App& app, Action& action);
void AddConfig(CLI::App& app, Action& action);
void AddSink(CLI::App& app, Action& action);
void AddToken(CLI::App& app, Action& action);
void AddDemo(CLI::App& app, Action& action);
void AddBench(CLI::App& app, Action& action);
void AddVersion(CLI::App& app, Action& action);
void AddHelp(CLI::App& app, Action& action);

}  // namespace outbox::cli
