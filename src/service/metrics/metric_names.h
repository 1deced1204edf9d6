// Which metrics a query, a rules file, a dashboard or a page names, for tests.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace outbox::service::testing {

inline std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The names of metrics and labels in PromQL.
struct QueryNames {
  std::set<std::string> metrics;
  std::set<std::string> labels;
};

// Not a parser: takes away what is no name, then looks at what is left. promtool checks the
// grammar.
inline QueryNames NamesInQuery(std::string query) {
  QueryNames names;
  const auto collect = [](const std::string& text, std::set<std::string>& into) {
    static const std::regex kWord("[A-Za-z_][A-Za-z0-9_]*");
    for (std::sregex_iterator word(text.begin(), text.end(), kWord), end; word != end; ++word) {
      into.insert(word->str());
    }
  };
  query = std::regex_replace(query, std::regex(R"("(\\.|[^"\\])*")"), "");
  query = std::regex_replace(query, std::regex(R"(\[[^\]]*\])"), "");
  const std::regex labels(
      R"(\{[^}]*\}|\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\))");
  const std::regex clause(R"(^(by|without|on|ignoring|group_left|group_right)\b)");
  for (std::sregex_iterator found(query.begin(), query.end(), labels), end; found != end; ++found) {
    collect(std::regex_replace(found->str(), clause, ""), names.labels);
  }
  query = std::regex_replace(query, labels, " ");
  query = std::regex_replace(query, std::regex(R"(\b[0-9][0-9A-Za-z.]*)"), " ");  // 1e3, 5m
  // label_values(metric, label) is Grafana's.
  query = std::regex_replace(query, std::regex(R"((label_values\([^,]*),[^)]*)"), "$1");
  static const std::regex kName(R"([A-Za-z_:][A-Za-z0-9_:]*(\s*\()?)");
  static const std::set<std::string> kWords{"and", "or", "unless", "bool", "offset"};
  for (std::sregex_iterator word(query.begin(), query.end(), kName), end; word != end; ++word) {
    if (!word->str().ends_with('(') && !kWords.contains(word->str())) {
      names.metrics.insert(word->str());
    }
  }
  return names;
}

// The values of `key` in a YAML file of the shape that ours have: on the key's line, or as a block
// of lines that are indented further.
inline std::vector<std::string> YamlValues(const std::string& yaml, const std::string& key) {
  std::vector<std::string> values;
  std::istringstream lines(yaml);
  std::size_t block_indent = std::string::npos;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t start = line.find_first_not_of(" -");
    if (start == std::string::npos || line[start] == '#') continue;
    if (block_indent != std::string::npos && start > block_indent) {
      values.back() += " " + line.substr(start);
      continue;
    }
    block_indent = std::string::npos;
    if (line.compare(start, key.size() + 2, key + ": ") != 0) continue;
    const std::string value = line.substr(start + key.size() + 2);
    values.push_back(value == "|" ? "" : value);
    if (value == "|") block_indent = start;
  }
  return values;
}

// Every query of a Grafana dashboard, wherever it stands.
inline void CollectQueries(const nlohmann::json& node, std::vector<std::string>& queries) {
  if (node.is_object()) {
    for (const auto& [key, value] : node.items()) {
      const bool query = key == "expr" || key == "definition";
      if (query && value.is_string()) queries.push_back(value.get<std::string>());
    }
  }
  if (node.is_structured()) {
    for (const auto& child : node) CollectQueries(child, queries);
  }
}

inline std::vector<std::string> DashboardQueries(const std::string& json) {
  std::vector<std::string> queries;
  CollectQueries(nlohmann::json::parse(json), queries);
  return queries;
}

}  // namespace outbox::service::testing
