#include "config/config.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "config/key.h"
#include "config/problems_of.h"
#include "config/profile.h"
#include "message/table_name.h"
#include "message/validate.h"

namespace outbox::config {
namespace {

using base::StrCat;

// As long as a delivery's destination may be.
constexpr std::size_t kSinkNameBytesMax = 64;

// One table's share of everything that was said, bottom layer first.
using Layers = std::vector<const Layer*>;

class Loader {
 public:
  explicit Loader(const Sources& sources) : sources_(sources) {}

  Examined Examine() {
    if (sources_.file) file_ = ReadFile(*sources_.file, problems_);
    const bool readable = problems_.empty();
    environment_ = ReadEnvironment(sources_.environment, problems_);
    if (sources_.by_variables && !sources_.file) ChooseProfile();
    Examined examined{.parsed = file_.parsed};
    Config& config = examined.config;
    static_cast<Resolved&>(config) = Resolve({&file_.layer, &environment_, &sources_.flags});
    ResolveTables(config);
    ResolveRoutes(config);
    for (std::string& problem : ProblemsOf(config)) AddLine(std::move(problem));
    // What is missing can only be told when everything that is there was understood.
    if (readable && config.tables.empty()) CheckIdle(config);
    examined.problems = std::move(problems_);
    return examined;
  }

 private:
  void ChooseProfile() {
    if (environment_.contains("profile") || sources_.flags.contains("profile")) return;
    for (const auto& entry : sources_.environment) {
      const std::string& variable = entry.first;
      const Profile* profile = FindProfileByVariable(variable);
      if (profile == nullptr) continue;
      environment_.emplace(
          "profile", Value{std::string(profile->name),
                           {Origin::Kind::kEnvironment, StrCat(variable, ", without a file")}});
      return;
    }
  }

  Resolved Resolve(const Layers& layers) {
    Resolved resolved;
    ApplyProfile(layers, resolved);
    for (const Layer* layer : layers) Apply(*layer, resolved);
    return resolved;
  }

  void ApplyProfile(const Layers& layers, Resolved& resolved) {
    const Value* chosen = nullptr;
    for (const Layer* layer : layers) {
      if (const auto found = layer->find("profile"); found != layer->end()) chosen = &found->second;
    }
    if (chosen == nullptr) return;
    const Profile* profile = FindProfile(chosen->text);
    if (profile == nullptr) {
      AddUnknownProfile(*chosen);
      return;
    }
    Layer layer;
    for (const Setting& setting : profile->settings) {
      layer.emplace(setting.key, Value{std::string(setting.text),
                                       {Origin::Kind::kProfile, std::string(profile->name)}});
    }
    Apply(layer, resolved);
  }

  // In the order of the keys, so that poll_interval comes before poll_min and poll_max.
  void Apply(const Layer& layer, Resolved& resolved) {
    for (const Key& key : Keys()) {
      const auto found = layer.find(key.name);
      if (found == layer.end()) continue;
      const Value& value = found->second;
      if (const Status status = key.set(resolved.settings, value.text); !status.ok()) {
        Add(value.origin, key.name,
            StrCat(status.message(), status.hint().empty() ? "" : "; ", status.hint()));
        continue;
      }
      resolved.origins.insert_or_assign(std::string(key.name), value.origin);
      for (const std::string_view other : KeysSetBy(key.name)) {
        resolved.origins.insert_or_assign(std::string(other), value.origin);
      }
    }
  }

  void ResolveTables(Config& config) {
    const Settings& common = config.settings;
    CheckTwice(file_.tables, "[[table]] sections");
    CheckTwice(sources_.flag_tables, "--route flags");
    for (const TableEntry& entry : file_.tables) {
      if (TableConfig* table = AddTable(config, entry.name, entry.origin)) table->relays = true;
    }
    for (const RouteEntry& route : file_.routes) {
      if (route.table.empty()) continue;
      if (TableConfig* table = AddTable(config, route.table, route.origin)) table->relays = true;
    }
    for (const std::string& name : common.relay_tables) {
      TableConfig* table = AddTable(config, name, FindOrigin(config, "relay.tables"));
      if (table != nullptr) table->relays = true;
    }
    const bool cleaner_follows = common.cleaner_tables.empty();
    for (const std::string& name : common.cleaner_tables) {
      TableConfig* table = AddTable(config, name, FindOrigin(config, "cleaner.tables"));
      if (table != nullptr) table->cleans = true;
    }
    for (TableConfig& table : config.tables) {
      static_cast<Resolved&>(table) = Resolve(LayersOf(table.name));
      Settings& settings = table.settings;
      settings.relay.table = settings.cleaner.table = table.name;
      table.cleans =
          (table.cleans || (cleaner_follows && table.relays)) && settings.cleaner.enabled;
      table.relays = table.relays && settings.relay_enabled;
    }
  }

  // Null when the name is not one; the pointer holds until the next call.
  TableConfig* AddTable(Config& config, const std::string& written, const Origin& origin) {
    const auto parsed = message::TableName::Parse(written, DefaultSchema());
    if (!parsed.ok()) {
      AddLine(StrCat(origin.ToString(), ": ", parsed.error().message()));
      return nullptr;
    }
    const std::string name = parsed->Display();
    const auto found = std::find_if(config.tables.begin(), config.tables.end(),
                                    [&](const TableConfig& table) { return table.name == name; });
    if (found != config.tables.end()) return &*found;
    TableConfig table;
    table.name = name;
    table.origin = origin;
    return &config.tables.emplace_back(std::move(table));
  }

  // The settings of the second would cover those of the first.
  void CheckTwice(const std::vector<TableEntry>& entries, std::string_view what) {
    std::map<std::string, Origin> first;
    for (const TableEntry& entry : entries) {
      const auto parsed = message::TableName::Parse(entry.name, DefaultSchema());
      if (!parsed.ok()) continue;
      const auto [found, added] = first.emplace(parsed->Display(), entry.origin);
      if (!added)
        AddTwice(entry, found->second, StrCat(what, " for the table '", found->first, "'"));
    }
  }

  void AddTwice(const TableEntry& entry, const Origin& first, std::string_view what) {
    const bool line = first.kind == Origin::Kind::kFile;
    AddLine(StrCat(entry.origin.ToString(), ": there are two ", what,
                   line ? StrCat("; the first is ", first.ToString()) : ""));
  }

  void ResolveRoutes(Config& config) {
    CheckSinks();
    CheckTopics();
    for (TableConfig& table : config.tables) {
      for (const RouteEntry& entry : file_.routes) {
        if (!IsCalled(entry.table, table.name)) continue;
        table.routed = true;
        for (const std::string& topics : entry.topics) {
          table.routes.push_back({topics, entry.sinks, entry.ordered, entry.waits_for_dead});
        }
        for (const std::string& sink : entry.sinks) AddDestination(table, sink, entry.sinks_origin);
      }
    }
  }

  void CheckSinks() {
    std::map<std::string, Origin> first;
    for (const SinkEntry& sink : file_.sinks) {
      const auto [found, added] = first.emplace(sink.name, sink.origin);
      if (!added) AddTwice(sink, found->second, StrCat("sinks called '", sink.name, "'"));
      if (sink.name.size() > kSinkNameBytesMax) {
        AddLine(StrCat(sink.origin.ToString(), ": sink.name: has more than ", kSinkNameBytesMax,
                       " characters"));
      }
      if (!sink.layer.contains("relay.sink")) {
        AddLine(StrCat(sink.origin.ToString(), ": sink '", sink.name, "' needs an address"));
      }
    }
  }

  void CheckTopics() {
    for (const RouteEntry& route : file_.routes) {
      for (const std::string& topics : route.topics) {
        const Status status = message::ValidateTopicPattern(topics);
        if (status.ok()) continue;
        Add(route.topics_origin, "route.topics", StrCat(status.message(), "; ", status.hint()));
      }
    }
  }

  void AddDestination(TableConfig& table, const std::string& name, const Origin& origin) {
    const auto known =
        std::find_if(table.destinations.begin(), table.destinations.end(),
                     [&](const Destination& destination) { return destination.name == name; });
    if (known != table.destinations.end()) return;
    const auto sink = std::find_if(file_.sinks.begin(), file_.sinks.end(),
                                   [&](const SinkEntry& entry) { return entry.name == name; });
    if (sink == file_.sinks.end()) {
      std::vector<std::string> names;
      for (const SinkEntry& entry : file_.sinks) names.push_back(entry.name);
      const std::string_view nearest = base::Nearest(name, names);
      AddLine(StrCat(origin.ToString(), ": route.sinks: there is no [[sink]] called '", name, "'",
                     nearest.empty() ? "" : StrCat("; did you mean '", nearest, "'?")));
      return;
    }
    Destination destination;
    static_cast<Resolved&>(destination) = Resolve(LayersOf(table.name, &sink->layer));
    destination.name = name;
    destination.origin = sink->origin;
    destination.settings.relay.table = table.name;
    destination.settings.relay.destination = name;
    table.destinations.push_back(std::move(destination));
  }

  Layers LayersOf(const std::string& table, const Layer* sink = nullptr) {
    Layers layers{&file_.layer, &environment_};
    for (const TableEntry& entry : file_.tables) {
      if (IsCalled(entry.name, table)) layers.push_back(&entry.layer);
    }
    if (sink != nullptr) layers.push_back(sink);
    layers.push_back(&sources_.flags);
    for (const TableEntry& entry : sources_.flag_tables) {
      if (IsCalled(entry.name, table)) layers.push_back(&entry.layer);
    }
    return layers;
  }

  // "orders" and "public.orders" are one table.
  bool IsCalled(const std::string& written, const std::string& table) const {
    const auto parsed = message::TableName::Parse(written, DefaultSchema());
    return parsed.ok() && parsed->Display() == table;
  }

  std::string_view DefaultSchema() const {
    for (const Layer* layer : {&sources_.flags, &environment_, &file_.layer}) {
      const auto found = layer->find("database");
      if (found != layer->end())
        return found->second.text.starts_with("sqlite:") ? "main" : "public";
    }
    return "public";
  }

  void CheckIdle(const Config& config) {
    const Profile* profile = FindProfile(config.settings.profile);
    const bool may_be_idle = sources_.idle_allowed && profile != nullptr && profile->may_be_idle;
    if (may_be_idle || !sources_.complete) return;
    AddLine(
        "no table to deliver from: add a [[table]] to the file, set OUTBOX_RELAY_TABLES, or give "
        "relay --table");
  }

  void AddUnknownProfile(const Value& value) {
    std::vector<std::string> known;
    for (const Profile& profile : Profiles()) known.emplace_back(profile.name);
    const std::string_view nearest = base::Nearest(value.text, known);
    Add(value.origin, "profile",
        StrCat("there is no profile '", value.text, "'; ",
               nearest.empty() ? StrCat("known are ", base::Join(known, ", "))
                               : StrCat("did you mean '", nearest, "'?")));
  }

  void Add(const Origin& origin, std::string_view key, std::string_view problem) {
    AddLine(StrCat(origin.ToString(), ": ", key, ": ", problem));
  }

  // The same mistake shows up once for each table it reaches.
  void AddLine(std::string line) {
    if (std::find(problems_.begin(), problems_.end(), line) == problems_.end()) {
      problems_.push_back(std::move(line));
    }
  }

  const Sources& sources_;
  File file_;
  Layer environment_;
  Problems problems_;
};

}  // namespace

Examined Examine(const Sources& sources) { return Loader(sources).Examine(); }

Result<Config> Load(const Sources& sources) {
  Examined examined = Examine(sources);
  if (examined.problems.empty()) return std::move(examined.config);
  return AllProblems(examined.problems);
}

Status AllProblems(const Problems& problems) {
  if (problems.size() == 1) return Status::Invalid(problems.front());
  return Status::Invalid(StrCat("the configuration has ", problems.size(), " problems:\n  ",
                                base::Join(problems, "\n  ")));
}

}  // namespace outbox::config
