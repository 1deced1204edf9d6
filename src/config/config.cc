#include "config/config.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "config/key.h"
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

  Result<Config> Load() {
    if (sources_.file) file_ = ReadFile(*sources_.file, problems_);
    const bool readable = problems_.empty();
    environment_ = ReadEnvironment(sources_.environment, problems_);
    if (sources_.by_variables && !sources_.file) ChooseProfile();
    Config config;
    static_cast<Resolved&>(config) = Resolve({&file_.layer, &environment_, &sources_.flags});
    ResolveTables(config);
    ResolveRoutes(config);
    Check(config, readable);
    if (problems_.empty()) return config;
    return Failure();
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
      TableConfig* table = AddTable(config, name, OriginOf(config, "relay.tables"));
      if (table != nullptr) table->relays = true;
    }
    const bool cleaner_follows = common.cleaner_tables.empty();
    for (const std::string& name : common.cleaner_tables) {
      TableConfig* table = AddTable(config, name, OriginOf(config, "cleaner.tables"));
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

  // What is missing can only be told when everything that is there was understood.
  void Check(const Config& config, bool readable) {
    for (const TableConfig& table : config.tables) {
      if (table.relays) CheckRelay(table);
      if (table.cleans) CheckAll(table, table.settings.cleaner.Problems(), "");
    }
    for (std::string& problem : config.settings.service.Problems()) AddLine(std::move(problem));
    if (const auto interval = config.settings.heartbeat_interval;
        interval < std::chrono::milliseconds(100) || interval > std::chrono::hours(1)) {
      AddLine("relay.heartbeat_interval: is not between 100ms and 1h");
    }
    const Profile* profile = FindProfile(config.settings.profile);
    const bool may_be_idle = profile != nullptr && profile->may_be_idle;
    if (!config.tables.empty() || !sources_.complete || !readable || may_be_idle) return;
    AddLine("no table to deliver from: add a [[table]] to the file or set OUTBOX_RELAY_TABLES");
  }

  void CheckRelay(const TableConfig& table) {
    CheckRequired(table);
    CheckAll(table, table.settings.relay.Problems(), "relay.");
    if (!table.routes.empty()) {
      CheckRoutes(table);
      return;
    }
    const bool routed =
        std::any_of(file_.routes.begin(), file_.routes.end(),
                    [&](const RouteEntry& route) { return IsCalled(route.table, table.name); });
    if (table.settings.sink.empty() && sources_.complete && !routed) {
      AddLine(
          StrCat("table ", table.name,
                 ": has no sink; set relay.sink, or the table's own (--sink, OUTBOX_RELAY_SINK)"));
    }
  }

  void CheckRoutes(const TableConfig& table) {
    for (const Destination& destination : table.destinations) {
      for (const std::string& problem : destination.settings.relay.Problems()) {
        AddLine(StrCat("table ", table.name, ", sink ", destination.name, ": relay.", problem));
      }
    }
    if (const Origin origin = OriginOf(table, "relay.sink"); !table.settings.sink.empty()) {
      AddLine(StrCat(origin.ToString(), ": table ", table.name,
                     " has both a sink and routes; name that sink in a [[sink]] and route to it"));
    }
    if (!message::Routes(table.routes).exhaustive() && !table.settings.unrouted) {
      AddLine(StrCat("table ", table.name,
                     ": its routes do not take every topic; set unrouted to "
                     "error, dead or drop, or add a route for \"#\""));
    }
  }

  void CheckRequired(const TableConfig& table) {
    const Profile* profile = FindProfile(table.settings.profile);
    if (profile == nullptr) return;
    for (const std::string_view key : profile->required) {
      std::vector<std::string_view> needed = KeysSetBy(key);
      if (needed.empty()) needed.push_back(key);
      const bool chosen = std::all_of(needed.begin(), needed.end(), [&](std::string_view name) {
        return OriginOf(table, name).chosen();
      });
      if (!chosen) {
        AddLine(StrCat("table ", table.name, ": profile ", profile->name, " has no default for ",
                       key, "; set it (environment ", FindKey(key)->environment, ")"));
      }
    }
  }

  // Problems come as "field: what is wrong"; the field leads to the place where it was set.
  void CheckAll(const TableConfig& table, const std::vector<std::string>& problems,
                std::string_view prefix) {
    for (const std::string& problem : problems) {
      std::string key = StrCat(prefix, problem.substr(0, problem.find(':')));
      if (const std::size_t dot = key.find("retry."); dot != std::string::npos) key[dot + 5] = '_';
      const Origin origin = OriginOf(table, key);
      AddLine(origin.chosen() ? StrCat(origin.ToString(), ": ", prefix, problem)
                              : StrCat("table ", table.name, ": ", prefix, problem));
    }
  }

  static Origin OriginOf(const Resolved& resolved, std::string_view key) {
    const auto found = resolved.origins.find(key);
    if (found != resolved.origins.end()) return found->second;
    const auto parts = KeysSetBy(key);
    return parts.empty() ? Origin{} : OriginOf(resolved, parts.back());
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

  Status Failure() const {
    if (problems_.size() == 1) return Status::Invalid(problems_.front());
    return Status::Invalid(StrCat("the configuration has ", problems_.size(), " problems:\n  ",
                                  base::Join(problems_, "\n  ")));
  }

  const Sources& sources_;
  File file_;
  Layer environment_;
  Problems problems_;
};

}  // namespace

Result<Config> Load(const Sources& sources) { return Loader(sources).Load(); }

}  // namespace outbox::config
