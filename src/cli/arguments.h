// Arguments: the command line as the parser is to see it.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <vector>

namespace outbox::cli {

// `help COMMAND` becomes `COMMAND --help`, and a --db before the command stands behind it. The
// program's name is not among the arguments.
std::vector<std::string> ArrangeArguments(const CLI::App& app,
                                          std::span<const char* const> arguments);

}  // namespace outbox::cli
