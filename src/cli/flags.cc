#include "cli/flags.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include "base/text.h"
#include "cli/terminal.h"

namespace outbox::cli {

CLI::Validator OneOf(std::vector<std::string> words) {
  std::string description = base::StrCat("{", base::Join(words, ","), "}");
  return CLI::Validator(
      [words = std::move(words)](std::string& text) -> std::string {
        if (std::ranges::find(words, text) != words.end()) return "";
        const std::string_view nearest = base::Nearest(text, words);
        return base::StrCat("'", text, "' is not one of ", base::Join(words, ", "),
                            nearest.empty() ? "" : base::StrCat("; did you mean ", nearest, "?"));
      },
      std::move(description));
}

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
