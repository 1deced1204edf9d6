#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "config/key.h"
#include "config/source.h"

namespace outbox::config {
namespace {

// Other OUTBOX_ variables belong to the command line and to applications.
constexpr std::array<std::string_view, 5> kOurPrefixes{
    "OUTBOX_RELAY_", "OUTBOX_CLEANER_", "OUTBOX_LOG_", "OUTBOX_SERVICE_", "OUTBOX_METRICS_"};

const Key* FindByVariable(std::string_view variable) {
  for (const Key& key : Keys()) {
    if (key.environment == variable) return &key;
  }
  return nullptr;
}

std::string UnknownVariable(std::string_view variable) {
  std::vector<std::string> known;
  for (const Key& key : Keys()) known.emplace_back(key.environment);
  const std::string_view nearest = base::Nearest(variable, known);
  return base::StrCat("environment ", variable, ": no such setting",
                      nearest.empty() ? "" : base::StrCat("; did you mean ", nearest, "?"));
}

}  // namespace

Environment ProcessEnvironment() {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

Layer ReadEnvironment(const Environment& environment, Problems& problems) {
  Layer layer;
  for (const auto& entry : environment) {
    const auto& [variable, text] = entry;
    const auto begins = [&](std::string_view prefix) { return entry.first.starts_with(prefix); };
    if (const Key* key = FindByVariable(variable)) {
      if (text.empty()) continue;
      layer.emplace(key->name, Value{text, {Origin::Kind::kEnvironment, variable}});
    } else if (std::any_of(kOurPrefixes.begin(), kOurPrefixes.end(), begins)) {
      problems.push_back(UnknownVariable(variable));
    }
  }
  return layer;
}

}  // namespace outbox::config
