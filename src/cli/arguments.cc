#include "cli/arguments.h"

#include <algorithm>
#include <string_view>

namespace outbox::cli {
namespace {

constexpr std::string_view kDatabase = "--db";

using Words = std::vector<std::string>;

const CLI::App* Subcommand(const CLI::App& app, const std::string& word) {
  for (const CLI::App* each : app.get_subcommands({})) {
    if (each->get_name() == word) return each;
  }
  return nullptr;
}

// How many words name the command; one also where there is no such command.
std::ptrdiff_t CommandLength(const CLI::App& app, const Words& words) {
  std::size_t length = 0;
  for (const CLI::App* at = &app; length < words.size(); ++length) {
    at = Subcommand(*at, words[length]);
    if (at == nullptr) break;
  }
  return static_cast<std::ptrdiff_t>(std::max<std::size_t>(length, 1));
}

// Takes the --db at the front of `words` away.
Words TakeDatabase(Words& words) {
  std::size_t taken = 0;
  if (words.front() == kDatabase) taken = std::min<std::size_t>(words.size(), 2);
  if (words.front().starts_with("--db=")) taken = 1;
  const auto end = words.begin() + static_cast<std::ptrdiff_t>(taken);
  Words database(words.begin(), end);
  words.erase(words.begin(), end);
  return database;
}

}  // namespace

Words ArrangeArguments(const CLI::App& app, std::span<const char* const> arguments) {
  Words words(arguments.begin(), arguments.end());
  if (words.empty()) return words;
  const Words database = TakeDatabase(words);
  if (words.empty()) return words;
  words.insert(words.begin() + CommandLength(app, words), database.begin(), database.end());
  if (words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  return words;
}

}  // namespace outbox::cli
