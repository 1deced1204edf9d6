#include "cli/help.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "cli/wrap.h"

namespace outbox::cli {
namespace {

constexpr std::size_t kWidthElsewhere = 80;
constexpr std::size_t kWidthMin = 40;
constexpr std::size_t kWidthMax = 100;
constexpr std::size_t kNameWidthMax = 34;
constexpr std::size_t kCommandWidth = 12;

std::size_t HelpWidth() {
  const std::size_t terminal = TerminalWidth(STDOUT_FILENO);
  return terminal == 0 ? kWidthElsewhere : std::clamp(terminal, kWidthMin, kWidthMax);
}

class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return WrapEntry(make_option_name(option, is_positional) + make_option_opts(option),
                     make_option_desc(option), std::min(kNameWidthMax, width_ * 2 / 5), width_);
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return WrapEntry(command->get_display_name(true), command->get_description(), kCommandWidth,
                     width_);
  }
  std::string make_description(const CLI::App* command) const override {
    return base::Join(WrapLines(command->get_description(), width_), "\n") + "\n";
  }

 private:
  const std::size_t width_ = HelpWidth();
};

}  // namespace

// Only for the list of commands: `help COMMAND` has become `COMMAND --help` (cli/arguments.h).
void AddHelp(CLI::App& app, Action&) {
  app.add_subcommand("help", "Show what a command does and takes: outboxd help migrate up");
}

std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter() {
  return std::make_shared<HelpFormatter>();
}

}  // namespace outbox::cli
