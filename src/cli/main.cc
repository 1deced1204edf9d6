// outboxd: the program. Understands the command line, runs one command, turns its Status into lines
// on standard error and an exit code: 0 done, 1 failed, 2 not understood.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <span>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/standard_streams.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "outbox/version.h"

namespace outbox::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
// Room for every problem of a configuration file.
constexpr std::size_t kErrorBytesMax = 64 * 1024;

void PrintError(std::string_view message, std::string_view hint) {
  // Each line for itself: cleaning replaces control characters, line breaks among them.
  std::string text = "outboxd: ";
  for (const std::string& line : base::Split(message, '\n')) {
    text += Harmless(base::CleanText(line, kErrorBytesMax)) + "\n";
  }
  if (!hint.empty()) {
    text += base::StrCat("hint: ", Harmless(base::CleanText(hint, kErrorBytesMax)), "\n");
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

int Run(int argc, char** argv) {
  if (argc > 1 && IsUnknownCommand(argv[1])) return Report(UnknownCommand(argv[1]));
  CLI::App app("The transactional outbox: delivers what your transactions committed.", "outboxd");
  app.set_version_flag("--version", base::StrCat("outboxd ", Version()));
  app.require_subcommand(1);
  app.formatter(MakeHelpFormatter());
  Action action;
  for (const Command& command : Commands()) {
    command.add(app, action);
    app.get_subcommand(std::string(command.name))->group(std::string(command.group));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error);
      return Report(Status::Ok());
    }
    return Report(ExplainUsage(app, std::span<const char* const>(argv + 1, argv + argc), error));
  }
  return Report(action());
}

}  // namespace
}  // namespace outbox::cli

int main(int argc, char** argv) {
  outbox::cli::TakeStandardStreams();
  // A reader that went away is an error of the write that finds out, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return outbox::cli::Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "outboxd: %s\n", error.what());
    return outbox::cli::kFailed;
  }
}
