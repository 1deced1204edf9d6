#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>

#include "base/text.h"
#include "config/key.h"
#include "config/source.h"

namespace outbox::config {
namespace {

using base::StrCat;

// The value as text, lists joined with commas; nothing for types that no setting takes.
std::optional<std::string> ScalarText(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return std::nullopt;
}

std::optional<std::string> Text(const toml::node& node) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return ScalarText(node);
  std::vector<std::string> parts;
  for (const toml::node& element : *array) {
    std::optional<std::string> part = ScalarText(element);
    if (!part || part->find(',') != std::string::npos) return std::nullopt;
    parts.push_back(std::move(*part));
  }
  return base::Join(parts, ",");
}

// Keys of a [[table]] that hold for its messages, whichever sinks they go to.
constexpr std::array<std::string_view, 10> kTableWideKeys{
    "enabled", "unrouted", "completion", "claim",          "namespace",
    "topics",  "tenant",   "retention",  "dead_retention", "audit_retention"};

bool IsTableWide(std::string_view key) {
  return std::find(kTableWideKeys.begin(), kTableWideKeys.end(), key) != kTableWideKeys.end();
}

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  File Read(const toml::table& root) {
    File file;
    for (const auto& [name, node] : root) {
      if (name.str() == "table") {
        ReadEntries(node, "table", file.tables);
      } else if (name.str() == "sink") {
        ReadEntries(node, "sink", file.sinks);
      } else if (name.str() == "route") {
        ReadRoutes(node, file.routes);
      } else if (const toml::table* section = node.as_table()) {
        ReadSection(name.str(), *section, file.layer);
      } else {
        Set(std::string(name.str()), name.str(), node, file.layer);
      }
    }
    return file;
  }

  // In the order of the file; tables of toml++ are sorted by name.
  void Report(Problems& problems) const {
    for (const auto& [line, problem] : problems_) {
      problems.push_back(StrCat(path_, ":", line, ": ", problem));
    }
  }

 private:
  void ReadSection(std::string_view section, const toml::table& table, Layer& layer) {
    const std::vector<std::string> known = Sections();
    if (std::find(known.begin(), known.end(), section) == known.end()) {
      Add(table, StrCat("[", section, "]: no such section", Suggestion(section, known)));
      return;
    }
    for (const auto& [name, node] : table) {
      Set(StrCat(section, ".", name.str()), name.str(), node, layer);
    }
  }

  // The elements of an array of tables; none, and a problem, when it is something else.
  std::vector<const toml::table*> Elements(const toml::node& node, std::string_view kind) {
    std::vector<const toml::table*> elements;
    const toml::array* array = node.as_array();
    if (array == nullptr || !array->is_homogeneous<toml::table>()) {
      Add(node, StrCat(kind, ": write each ", kind, " as a [[", kind, "]] section"));
      return elements;
    }
    for (const toml::node& element : *array) elements.push_back(element.as_table());
    return elements;
  }

  // [[table]] and [[sink]]: a name, and settings of its own. A sink has an address too.
  void ReadEntries(const toml::node& node, std::string_view kind,
                   std::vector<TableEntry>& entries) {
    const bool sink = kind == "sink";
    for (const toml::table* table : Elements(node, kind)) {
      TableEntry entry{.origin = OriginOf(*table)};
      for (const auto& [name, value] : *table) {
        if (name.str() == "name") {
          entry.name = value.value_or(std::string());
        } else if (sink) {
          SetOfSink(name.str(), value, entry.layer);
        } else {
          SetOfTable(name.str(), value, entry.layer);
        }
      }
      if (entry.name.empty()) {
        Add(*table, StrCat("[[", kind, "]]: needs a name, such as name = ",
                           sink ? "\"rabbit\"" : "\"public.orders_outbox\""));
      } else {
        entries.push_back(std::move(entry));
      }
    }
  }

  void SetOfTable(std::string_view name, const toml::node& value, Layer& layer) {
    if (const Key* key = FindTableKey(name)) {
      Put(*key, value, layer);
      return;
    }
    std::vector<std::string> known{"name"};
    for (const Key& key : Keys()) {
      if (!key.table_name.empty()) known.emplace_back(key.table_name);
    }
    Add(value, StrCat("table.", name, ": unknown key", Suggestion(name, known)));
  }

  void SetOfSink(std::string_view name, const toml::node& value, Layer& layer) {
    if (IsTableWide(name)) {
      Add(value, StrCat("sink.", name, ": belongs to the [[table]], for all of its sinks"));
      return;
    }
    const Key* key = FindTableKey(name == "address" ? "sink" : name);
    if (key != nullptr && name != "sink") {
      Put(*key, value, layer);
      return;
    }
    std::vector<std::string> known{"name", "address"};
    for (const Key& candidate : Keys()) {
      const std::string_view own = candidate.table_name;
      if (!own.empty() && own != "sink" && !IsTableWide(own)) known.emplace_back(own);
    }
    Add(value, StrCat("sink.", name, ": unknown key", Suggestion(name, known)));
  }

  void ReadRoutes(const toml::node& node, std::vector<RouteEntry>& routes) {
    for (const toml::table* table : Elements(node, "route")) {
      RouteEntry route{.origin = OriginOf(*table)};
      for (const auto& [name, value] : *table) ReadRouteKey(name.str(), value, route);
      if (route.table.empty()) Add(*table, "[[route]]: needs a table");
      if (!table->contains("topics")) {
        Add(*table, "[[route]]: needs topics, such as topics = \"orders.*.created.v*\" or \"#\"");
      }
      if (!table->contains("sinks")) {
        Add(*table, "[[route]]: needs sinks, such as sinks = [\"rabbit\"]");
      }
      routes.push_back(std::move(route));
    }
  }

  void ReadRouteKey(std::string_view name, const toml::node& value, RouteEntry& route) {
    const std::optional<std::string> text = Text(value);
    const auto is = [&](std::string_view key, std::string_view type, bool right) {
      if (name != key) return false;
      if (!right) Add(value, StrCat("route.", key, ": is not ", type));
      return true;
    };
    const bool word = text.has_value() && !value.is_array();
    if (is("table", "a table's name", word)) {
      if (word) route.table = *text;
    } else if (is("topics", "a pattern or a list of patterns", text.has_value())) {
      route.topics = ReadWords(name, value, text);
      route.topics_origin = OriginOf(value);
    } else if (is("sinks", "a list of names", text.has_value())) {
      route.sinks = ReadWords(name, value, text);
      route.sinks_origin = OriginOf(value);
    } else if (is("ordered", "true or false", value.is_boolean())) {
      route.ordered = value.value_or(false);
    } else if (is("on_dead", "\"wait\" or \"skip\"", text == "wait" || text == "skip")) {
      route.waits_for_dead = text != "skip";
    } else {
      Add(value, StrCat("route.", name, ": unknown key",
                        Suggestion(name, {"table", "topics", "sinks", "ordered", "on_dead"})));
    }
  }

  std::vector<std::string> ReadWords(std::string_view key, const toml::node& value,
                                     const std::optional<std::string>& text) {
    if (!text) return {};
    if (!text->empty()) return base::Split(*text, ',');
    Add(value, StrCat("route.", key, ": is empty"));
    return {};
  }

  void Set(const std::string& full_name, std::string_view name, const toml::node& node,
           Layer& layer) {
    if (const Key* key = FindKey(full_name)) {
      Put(*key, node, layer);
      return;
    }
    std::vector<std::string> known;
    const std::string prefix = full_name.substr(0, full_name.size() - name.size());
    for (const Key& key : Keys()) {
      const bool same_section = prefix.empty() ? key.name.find('.') == std::string_view::npos
                                               : key.name.starts_with(prefix);
      if (same_section) known.emplace_back(key.name.substr(prefix.size()));
    }
    Add(node, StrCat(full_name, ": unknown key", Suggestion(name, known)));
  }

  void Put(const Key& key, const toml::node& node, Layer& layer) {
    if (std::optional<std::string> text = Text(node)) {
      layer.insert_or_assign(std::string(key.name), Value{std::move(*text), OriginOf(node)});
    } else {
      Add(node, StrCat(key.name, ": is not a ", key.type));
    }
  }

  static std::vector<std::string> Sections() {
    return {"log", "relay", "cleaner", "service", "metrics", "table", "sink", "route"};
  }

  static std::string Suggestion(std::string_view word, const std::vector<std::string>& known) {
    const std::string_view nearest = base::Nearest(word, known);
    return nearest.empty() ? StrCat("; known are ", base::Join(known, ", "))
                           : StrCat("; did you mean '", nearest, "'?");
  }

  Origin OriginOf(const toml::node& node) const {
    return {Origin::Kind::kFile, StrCat(path_, ":", node.source().begin.line)};
  }

  void Add(const toml::node& node, std::string_view problem) {
    problems_.emplace(node.source().begin.line, problem);
  }

  const std::string path_;
  std::multimap<std::uint32_t, std::string> problems_;
};

}  // namespace

File ReadFile(const std::string& path, Problems& problems) {
  errno = 0;
  std::ifstream stream(path);
  std::ostringstream text;
  // An empty file has nothing to copy, which would count as a failure.
  if (stream && stream.peek() != std::ifstream::traits_type::eof()) text << stream.rdbuf();
  if (!stream.is_open() || stream.bad() || !text) {
    const int error = errno == 0 ? EIO : errno;
    problems.push_back(StrCat(path, ": ", std::generic_category().message(error)));
    return {.parsed = false};
  }
  try {
    Reader reader(path);
    File file = reader.Read(toml::parse(text.str(), path));
    reader.Report(problems);
    return file;
  } catch (const toml::parse_error& error) {
    problems.push_back(StrCat(path, ":", error.source().begin.line, ": ", error.description()));
    return {.parsed = false};
  }
}

}  // namespace outbox::config
