#include "cli/flags.h"

#include <iostream>

#include "cli/terminal.h"

namespace outbox::cli {

void AddDatabaseFlag(CLI::App& command, std::string& database) {
  command.add_option("--db", database, "Database: postgres://…, a libpq DSN, or sqlite:PATH")
      ->envname("OUTBOX_DB");
}

CLI::Option* AddTableFlag(CLI::App& command, std::string& table, const std::string& help) {
  return command.add_option("--table", table, help);
}

void AddJsonFlag(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "Write JSON for programs");
}

void AddJsonFlags(CLI::App& command, JsonFlags& flags) {
  auto* json = command.add_flag("--json", flags.json, "Write JSON for programs: one object");
  command.add_flag("--jsonl", flags.jsonl, "Write JSON lines for programs: one object each")
      ->excludes(json);
}

bool WriteJsonLine(const std::string& json) {
  PrintJson(json);
  return std::cout.flush().good();
}

}  // namespace outbox::cli
