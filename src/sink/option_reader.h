// OptionReader: the options of a sink's address, read one by one by the sink that knows them. What
// is wrong is collected, so that one error names every problem at once.
//
//   OptionReader options(uri);
//   const std::string exchange = options.Text("exchange", "");
//   const std::size_t window = options.Number("window", 1000, 1, 100000);
//   OUTBOX_RETURN_IF_ERROR(options.Finish());
//
// Threads: used by one.
#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "outbox/status.h"
#include "sink/text_template.h"
#include "sink/uri.h"

namespace outbox::sink {

class OptionReader {
 public:
  // `uri` outlives the reader.
  explicit OptionReader(const SinkUri& uri) : uri_(uri) {}

  std::string Text(std::string_view name, std::string_view fallback);
  // Empty when absent; given and empty is a problem.
  std::string NotEmpty(std::string_view name);
  bool Flag(std::string_view name, bool fallback);
  std::size_t Number(std::string_view name, std::size_t fallback, std::size_t min, std::size_t max);
  std::chrono::milliseconds Duration(std::string_view name, std::chrono::milliseconds fallback,
                                     std::chrono::milliseconds min, std::chrono::milliseconds max);
  TextTemplate Template(std::string_view name, std::string_view fallback);

  template <typename T>
  T Choice(std::string_view name, T fallback,
           std::initializer_list<std::pair<std::string_view, T>> choices) {
    std::vector<std::string> names;
    for (const auto& choice : choices) names.emplace_back(choice.first);
    const std::size_t index = ChoiceIndex(name, names);
    return index < names.size() ? (choices.begin() + index)->second : fallback;
  }

  // A secret by one of three ways: NAME itself, NAME_env (the name of an environment variable) or
  // NAME_file (the path of a file; its last line break is not part of the secret). Empty when
  // absent; one that is given and empty is a problem: nobody wants to go without it unawares.
  std::string Secret(std::string_view name);

  // The options whose names begin with `prefix`, without it.
  std::vector<std::pair<std::string, std::string>> Prefixed(std::string_view prefix);

  // A problem that the sink itself has found. `option` may be empty; `remedy` becomes a hint.
  void AddProblem(std::string_view option, std::string_view what, std::string_view remedy = "");

  // Fails with every problem found, options that nobody has read among them.
  Status Finish() const;

 private:
  const std::string* Find(std::string_view name);
  std::string SecretOfVariable(std::string_view option, const std::string& variable);
  std::string SecretOfFile(std::string_view option, const std::string& path);
  std::size_t ChoiceIndex(std::string_view name, const std::vector<std::string>& choices);

  const SinkUri& uri_;
  std::vector<std::string> known_;
  std::vector<std::string> prefixes_;
  std::vector<std::string> problems_;
  std::vector<std::string> remedies_;  // each once
};

}  // namespace outbox::sink
