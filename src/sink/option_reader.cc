#include "sink/option_reader.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/text.h"

namespace outbox::sink {

using base::StrCat;
using std::chrono::milliseconds;

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
    AddProblem(name, StrCat("is not a number between ", min, " and ", max));
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
    AddProblem(name, StrCat("is not a duration between ", base::FormatDuration(min), " and ",
                            base::FormatDuration(max)));
    return fallback;
  }
  return *duration;
}

TextTemplate OptionReader::Template(std::string_view name, std::string_view fallback) {
  const auto parsed = TextTemplate::Parse(Text(name, fallback));
  if (parsed.ok()) return *parsed;
  const Status error = parsed.error();
  AddProblem(name, StrCat(error.message(), error.hint().empty() ? "" : "; ", error.hint()));
  return *TextTemplate::Parse("");
}

std::size_t OptionReader::ChoiceIndex(std::string_view name,
                                      const std::vector<std::string>& choices) {
  const std::string* value = Find(name);
  if (value == nullptr) return choices.size();
  const auto found = std::find(choices.begin(), choices.end(), *value);
  if (found == choices.end()) {
    AddProblem(name, StrCat("is not one of ", base::Join(choices, ", ")));
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
  if (plain != nullptr) return *plain;
  if (variable != nullptr) {
    const char* value = std::getenv(variable->c_str());
    if (value == nullptr) {
      AddProblem(StrCat(name, "_env"), StrCat("the environment has no ", *variable));
      return "";
    }
    return value;
  }
  if (path == nullptr) return "";
  std::ifstream file(*path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    AddProblem(StrCat(name, "_file"), StrCat("can not read ", *path));
    return "";
  }
  std::string secret = std::move(text).str();
  while (secret.ends_with('\n') || secret.ends_with('\r')) secret.pop_back();
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

void OptionReader::AddProblem(std::string_view option, std::string_view what) {
  problems_.push_back(option.empty() ? std::string(what) : StrCat(option, ": ", what));
}

Status OptionReader::Finish() const {
  std::vector<std::string> problems = problems_;
  std::string hint;
  for (const auto& entry : uri_.options) {
    const std::string& option = entry.first;
    const bool known = std::find(known_.begin(), known_.end(), option) != known_.end() ||
                       std::any_of(prefixes_.begin(), prefixes_.end(),
                                   [&](const auto& prefix) { return option.starts_with(prefix); });
    if (known) continue;
    const std::string_view nearest = base::Nearest(option, known_);
    problems.push_back(StrCat("there is no option '", option, "'",
                              nearest.empty() ? "" : StrCat(" (did you mean '", nearest, "'?)")));
    hint = StrCat("options of ", uri_.scheme, ": ", base::Join(known_, ", "));
  }
  if (problems.empty()) return Status::Ok();
  return Status::Invalid(StrCat("the ", uri_.scheme, ": sink: ", base::Join(problems, "; ")))
      .WithHint(hint);
}

}  // namespace outbox::sink
