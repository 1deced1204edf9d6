// Usage: what is wrong with a command line, in our words and with a way out.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/status.h"

namespace outbox::cli {

// kInvalidArgument. Names the flag or the word that is not known, the one that was probably meant,
// and the command whose help lists what there is, with all of its words.
Status ExplainUsage(const CLI::App& app, std::span<const std::string> arguments,
                    const CLI::ParseError& error);

// The same for flags without a value: `--topic "$UNSET"` is not meant to be no --topic at all.
Status RefuseEmptyFlags(const CLI::App& app);

// The same for help on a command that there is not. Ok where no help is asked for.
Status CheckHelp(const CLI::App& app, std::span<const std::string> arguments);

// The same for a word that is no command.
Status UnknownCommand(std::string_view word);

// The arguments that no command takes, in their order.
std::vector<std::string> LeftOver(const CLI::App& app, std::span<const std::string> arguments);

}  // namespace outbox::cli
