#include "cli/flags.h"

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

}  // namespace outbox::cli
