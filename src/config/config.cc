#include "config/config.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "config/key.h"
#include "config/profile.h"
#include "message/table_name.h"

namespace outbox::config {
namespace {

using base::StrCat;

// One table's share of everything that was said, bottom layer first.
using Layers = std::vector<const Layer*>;

class Loader {
 public:
  explicit Loader(const Sources& sources) : sources_(sources) {}

  Result<Config> Load() {
    if (sources_.file) file_ = ReadFile(*sources_.file, problems_);
    const bool readable = problems_.empty();
    environment_ = ReadEnvironment(sources_.environment, problems_);
    Config config;
    static_cast<Resolved&>(config) = Resolve({&file_.layer, &environment_, &sources_.flags});
    ResolveTables(config);
    Check(config, readable);
    if (problems_.empty()) return config;
    return Failure();
  }

 private:
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
    for (const TableEntry& entry : file_.tables) {
      if (TableConfig* table = AddTable(config, entry.name, entry.origin)) table->relays = true;
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

  Layers LayersOf(const std::string& table) {
    Layers layers{&file_.layer, &environment_};
    for (const TableEntry& entry : file_.tables) {
      if (IsCalled(entry, table)) layers.push_back(&entry.layer);
    }
    layers.push_back(&sources_.flags);
    for (const TableEntry& entry : sources_.flag_tables) {
      if (IsCalled(entry, table)) layers.push_back(&entry.layer);
    }
    return layers;
  }

  // "orders" and "public.orders" are one table.
  bool IsCalled(const TableEntry& entry, const std::string& table) const {
    const auto parsed = message::TableName::Parse(entry.name, DefaultSchema());
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
    if (!config.tables.empty() || !sources_.complete || !readable) return;
    AddLine("no table to deliver from: add a [[table]] to the file or set OUTBOX_RELAY_TABLES");
  }

  void CheckRelay(const TableConfig& table) {
    CheckRequired(table);
    CheckAll(table, table.settings.relay.Problems(), "relay.");
    if (table.settings.sink.empty() && sources_.complete) {
      AddLine(
          StrCat("table ", table.name,
                 ": has no sink; set relay.sink, or the table's own (--sink, OUTBOX_RELAY_SINK)"));
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
