// Scrape: a text exposition as Prometheus reads it, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace outbox::service::testing {

using Labels = std::map<std::string, std::string>;

class Scrape {
 public:
  explicit Scrape(const std::string& exposition) {
    std::istringstream lines(exposition);
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("# TYPE ", 0) == 0) {
        std::istringstream words(line.substr(7));
        std::string name;
        words >> name >> types_[name];
      } else if (!line.empty() && line[0] != '#') {
        AddSample(line);
      }
    }
  }

  // Family name to "counter", "gauge" or "histogram".
  const std::map<std::string, std::string>& types() const& { return types_; }
  const std::map<std::string, std::string>& types() const&& = delete;  // would dangle
  const std::set<std::string>& label_names() const& { return label_names_; }
  const std::set<std::string>& label_names() const&& = delete;

  // The label names of each family, without a histogram's le.
  std::map<std::string, std::set<std::string>> family_labels() const {
    std::map<std::string, std::set<std::string>> families;
    for (const auto& [name, type] : types_) families[name];
    for (const auto& [name, samples] : samples_) {
      for (const auto& [labels, value] : samples) {
        for (const auto& [label, text] : labels) {
          if (label != "le") families[FamilyOf(name)].insert(label);
        }
      }
    }
    return families;
  }

  // The sample with exactly these labels; no value when there is none.
  std::optional<double> Find(const std::string& name, const Labels& labels = {}) const {
    const auto samples = samples_.find(name);
    if (samples == samples_.end()) return std::nullopt;
    const auto found = samples->second.find(labels);
    if (found == samples->second.end()) return std::nullopt;
    return found->second;
  }

  // All samples of a name.
  std::map<Labels, double> All(const std::string& name) const {
    const auto samples = samples_.find(name);
    return samples == samples_.end() ? std::map<Labels, double>{} : samples->second;
  }

  // The family that a sample's or a query's name belongs to: without a histogram's suffix.
  std::string FamilyOf(const std::string& name) const {
    for (const std::string suffix : {"_bucket", "_sum", "_count"}) {
      if (name.size() <= suffix.size() || !name.ends_with(suffix)) continue;
      const std::string family = name.substr(0, name.size() - suffix.size());
      const auto found = types_.find(family);
      if (found != types_.end() && found->second == "histogram") return family;
    }
    return name;
  }

 private:
  void AddSample(const std::string& line) {
    const std::size_t brace = line.find_first_of("{ ");
    const std::string name = line.substr(0, brace);
    Labels labels;
    std::size_t at = brace;
    if (line[at] == '{') {
      ++at;
      while (line[at] != '}') at = AddLabel(line, at, labels);
      ++at;
    }
    for (const auto& [label, value] : labels) label_names_.insert(label);
    const bool is_new =
        samples_[name].emplace(labels, std::strtod(line.c_str() + at, nullptr)).second;
    EXPECT_TRUE(is_new) << "twice in one scrape: " << line;
  }

  // From `at`, a name="value" and the comma after it, if any. Returns what comes next.
  static std::size_t AddLabel(const std::string& line, std::size_t at, Labels& labels) {
    const std::size_t equals = line.find('=', at);
    std::string& value = labels[line.substr(at, equals - at)];
    std::size_t next = equals + 2;
    for (; line[next] != '"'; ++next) {
      if (line[next] == '\\') ++next;
      value += line[next];
    }
    ++next;
    return line[next] == ',' ? next + 1 : next;
  }

  std::map<std::string, std::string> types_;
  std::set<std::string> label_names_;
  std::map<std::string, std::map<Labels, double>> samples_;
};

}  // namespace outbox::service::testing
