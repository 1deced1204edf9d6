// Flags that several commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace outbox::cli {

// --db, or OUTBOX_DB. A --db before the command arrives here too (cli/arguments.h).
void AddDatabaseFlag(CLI::App& command, std::string& database);
// --table
CLI::Option* AddTableFlag(CLI::App& command, std::string& table, const std::string& help);
// --json
void AddJsonFlag(CLI::App& command, bool& json);

}  // namespace outbox::cli
