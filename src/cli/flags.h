// Flags that several commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace outbox::cli {

// The heading of flags that are keys of the configuration.
inline constexpr const char* kSettingsGroup = "Settings";

// Takes one of a few words; the error lists them, and names the one that was probably meant.
CLI::Validator OneOf(std::vector<std::string> words);

// --db, or OUTBOX_DB. A --db before the command arrives here too (cli/arguments.h).
void AddDatabaseFlag(CLI::App& command, std::string& database);
// --table
CLI::Option* AddTableFlag(CLI::App& command, std::string& table, const std::string& help);
// --json
void AddJsonFlag(CLI::App& command, bool& json);

// --json and --jsonl, of which there may be one. The lines of --jsonl are the elements of the list
// that --json writes, each written as soon as it is known.
struct JsonFlags {
  bool json = false;
  bool jsonl = false;

  bool any() const noexcept { return json || jsonl; }
};
void AddJsonFlags(CLI::App& command, JsonFlags& flags);

// Writes one line of --jsonl. False when nobody reads them any more, or they cannot be written:
// stop then, main tells which.
bool WriteJsonLine(const std::string& json);

}  // namespace outbox::cli
