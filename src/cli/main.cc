// outboxd: the program. Understands the command line, runs one command, turns its Status into lines
// on standard error and an exit code: 0 done, 1 failed, 2 not understood.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "base/detached_thread.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/standard_streams.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "cli/wrap.h"
#include "outbox/version.h"

namespace outbox::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
// Room for every problem of a configuration file.
constexpr std::size_t kErrorBytesMax = 64 * 1024;

void PrintError(std::string_view message, std::string_view hint) {
  // Each line for itself: cleaning replaces control characters, line breaks among them.
  std::string text;
  for (const std::string& line : base::Split(base::StrCat("outboxd: ", message), '\n')) {
    text += FitTerminal(Harmless(base::CleanText(line, kErrorBytesMax)), STDERR_FILENO);
  }
  if (!hint.empty()) {
    text += FitTerminal(base::StrCat("hint: ", Harmless(base::CleanText(hint, kErrorBytesMax))),
                        STDERR_FILENO);
  }
  std::fputs(text.c_str(), stderr);
}

int Report(Status status) {
  if (const Status written = FlushOutput(); status.ok()) status = written;
  if (status.ok()) return 0;
  PrintError(status.ToString(), status.hint());
  return status.code() == Code::kInvalidArgument ? kUsage : kFailed;
}

// CLI11 would complain about a word it does not know as an unexpected argument.
bool IsUnknownCommand(std::string_view word) {
  if (word.empty() || word.starts_with("-")) return false;
  return std::none_of(Commands().begin(), Commands().end(),
                      [&](const Command& command) { return command.name == word; });
}

int Run(std::span<const char* const> arguments) {
  CLI::App app("The transactional outbox: delivers what your transactions committed.", "outboxd");
  app.set_version_flag("--version", base::StrCat("outboxd ", Version()));
  app.require_subcommand(1);
  app.formatter(MakeHelpFormatter());
  Action action;
  for (const Command& command : Commands()) {
    command.add(app, action);
    app.get_subcommand(std::string(command.name))->group(std::string(command.group));
  }
  const std::vector<std::string> words = ArrangeArguments(app, arguments);
  if (!words.empty() && IsUnknownCommand(words.front())) {
    return Report(UnknownCommand(words.front()));
  }
  if (const Status known = CheckHelp(app, words); !known.ok()) return Report(known);
  try {
    // CLI11 takes them from the back.
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0 && LeftOver(app, words).empty()) {
      app.exit(error);
      return Report(Status::Ok());
    }
    return Report(ExplainUsage(app, words, error));
  }
  if (const Status given = RefuseEmptyFlags(app); !given.ok()) return Report(given);
  return Report(action());
}

// Exit handlers tear down what libraries share. A thread that hangs in one must not find it gone.
int End(int exit_code) {
  if (base::DetachedThreads::running() == 0) return exit_code;
  std::cout.flush();
  std::fflush(nullptr);
  _exit(exit_code);
}

}  // namespace
}  // namespace outbox::cli

int main(int argc, char** argv) {
  outbox::cli::TakeStandardStreams();
  // A reader that went away is an error of the write that finds out, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return outbox::cli::End(outbox::cli::Run(std::span<const char* const>(argv + 1, argv + argc)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "outboxd: %s\n", outbox::base::CleanError(error.what(), 4096).c_str());
    return outbox::cli::End(outbox::cli::kFailed);
  }
}
