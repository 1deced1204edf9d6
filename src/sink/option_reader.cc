#include "sink/option_reader.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "base/text.h"

namespace outbox::sink {

using base::StrCat;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kShownBytesMax = 40;

std::string Quoted(std::string_view value) {
  return StrCat("'", base::CleanError(value, kShownBytesMax), "'");
}

}  // namespace

const std::string* OptionReader::Find(std::string_view name) {
  known_.emplace_back(name);
  for (const auto& [option, value] : uri_.options) {
    if (option == name) return &value;
  }
  return nullptr;
}

std::string OptionReader::Text(std::string_view name, std::string_view fallback) {
  const std::string* value = Find(name);
  return value != nullptr ? *value : std::string(fallback);
}

std::string OptionReader::NotEmpty(std::string_view name) {
  const std::string* value = Find(name);
  if (value == nullptr) return "";
  if (value->empty())
    AddProblem(name, "is empty", StrCat("give ", name, " a value or leave it out"));
  return *value;
}

bool OptionReader::Flag(std::string_view name, bool fallback) {
  return Choice(name, fallback, {{"true", true}, {"false", false}});
}

std::size_t OptionReader::Number(std::string_view name, std::size_t fallback, std::size_t min,
                                 std::size_t max) {
  const std::string* value = Find(name);
  if (value == nullptr) return fallback;
  std::size_t number = 0;
  const char* const end = value->data() + value->size();
  const auto [stopped, error] = std::from_chars(value->data(), end, number);
  if (error != std::errc() || stopped != end || number < min || number > max) {
    AddProblem(name, StrCat(Quoted(*value), " is not a number between ", min, " and ", max));
    return fallback;
  }
  return number;
}

milliseconds OptionReader::Duration(std::string_view name, milliseconds fallback, milliseconds min,
                                    milliseconds max) {
  const std::string* value = Find(name);
  if (value == nullptr) return fallback;
  const auto duration = base::ParseDuration(*value);
  if (!duration.ok() || *duration < min || *duration > max) {
    AddProblem(name, StrCat(Quoted(*value), " is not a duration between ",
                            base::FormatDuration(min), " and ", base::FormatDuration(max),
                            duration.ok() ? "" : "; write it like 30s"));
    return fallback;
  }
  return *duration;
}

TextTemplate OptionReader::Template(std::string_view name, std::string_view fallback) {
  const auto parsed = TextTemplate::Parse(Text(name, fallback));
  if (parsed.ok()) return *parsed;
  const Status error = parsed.error();
  AddProblem(name, StrCat(error.message(), error.hint().empty() ? "" : "; ", error.hint()));
  return *TextTemplate::Parse(fallback);
}

std::size_t OptionReader::ChoiceIndex(std::string_view name,
                                      const std::vector<std::string>& choices) {
  const std::string* value = Find(name);
  if (value == nullptr) return choices.size();
  const auto found = std::find(choices.begin(), choices.end(), *value);
  if (found == choices.end()) {
    AddProblem(name, StrCat(Quoted(*value), " is not one of ", base::Join(choices, ", ")));
  }
  return static_cast<std::size_t>(found - choices.begin());
}

std::string OptionReader::Secret(std::string_view name) {
  const std::string* plain = Find(name);
  const std::string* variable = Find(StrCat(name, "_env"));
  const std::string* path = Find(StrCat(name, "_file"));
  if ((plain != nullptr) + (variable != nullptr) + (path != nullptr) > 1) {
    AddProblem(name, StrCat("give one of ", name, ", ", name, "_env and ", name, "_file"));
    return "";
  }
  if (variable != nullptr) return SecretOfVariable(StrCat(name, "_env"), *variable);
  if (path != nullptr) return SecretOfFile(StrCat(name, "_file"), *path);
  if (plain == nullptr) return "";
  if (plain->empty()) AddProblem(name, "is empty");
  return *plain;
}

std::string OptionReader::SecretOfVariable(std::string_view option, const std::string& variable) {
  const char* const value = std::getenv(variable.c_str());
  if (value == nullptr) {
    AddProblem(option, StrCat("the environment has no ", variable));
    return "";
  }
  if (*value == '\0') AddProblem(option, StrCat(variable, " is empty"));
  return value;
}

std::string OptionReader::SecretOfFile(std::string_view option, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    AddProblem(option, StrCat("can not read ", path));
    return "";
  }
  std::string secret = std::move(text).str();
  while (secret.ends_with('\n') || secret.ends_with('\r')) secret.pop_back();
  if (secret.empty()) AddProblem(option, StrCat(path, " is empty"));
  return secret;
}

std::vector<std::pair<std::string, std::string>> OptionReader::Prefixed(std::string_view prefix) {
  prefixes_.emplace_back(prefix);
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& [option, value] : uri_.options) {
    if (option.starts_with(prefix)) found.emplace_back(option.substr(prefix.size()), value);
  }
  return found;
}

void OptionReader::AddProblem(std::string_view option, std::string_view what,
                              std::string_view remedy) {
  problems_.push_back(option.empty() ? std::string(what) : StrCat(option, ": ", what));
  const bool known = std::find(remedies_.begin(), remedies_.end(), remedy) != remedies_.end();
  if (!remedy.empty() && !known) remedies_.emplace_back(remedy);
}

Status OptionReader::Finish() const {
  std::vector<std::string> problems = problems_;
  std::vector<std::string> hints = remedies_;
  std::string options_hint;
  std::set<std::string_view> given;
  for (const auto& entry : uri_.options) {
    const std::string& option = entry.first;
    if (std::find(known_.begin(), known_.end(), option) != known_.end()) {
      if (!given.insert(option).second) problems.push_back(StrCat(option, ": is given twice"));
      continue;
    }
    const bool prefixed = std::any_of(prefixes_.begin(), prefixes_.end(), [&](const auto& prefix) {
      return option.starts_with(prefix);
    });
    if (prefixed) continue;
    const std::string_view nearest = base::Nearest(option, known_);
    problems.push_back(StrCat("there is no option '", option, "'",
                              nearest.empty() ? "" : StrCat(" (did you mean '", nearest, "'?)")));
    options_hint = known_.empty()
                       ? StrCat(uri_.scheme, ": has no options")
                       : StrCat("options of ", uri_.scheme, ": ", base::Join(known_, ", "));
  }
  if (problems.empty()) return Status::Ok();
  if (!options_hint.empty()) hints.push_back(std::move(options_hint));
  return Status::Invalid(StrCat("the ", uri_.scheme, ": sink: ", base::Join(problems, "; ")))
      .WithHint(base::Join(hints, "; "));
}

}  // namespace outbox::sink
