#include "config/config_json.h"

#include <vector>

#include "base/json_object.h"

namespace outbox::config {
namespace {

std::string SettingsJson(const Resolved& resolved, bool table_keys) {
  std::vector<std::string> settings;
  ForEachSetting(resolved, table_keys,
                 [&](const Key& key, const std::string& value, const std::string& origin) {
                   settings.push_back(base::JsonObject()
                                          .Add("key", key.name)
                                          .Add("value", value)
                                          .Add("origin", origin)
                                          .Add("environment", key.environment)
                                          .Finish());
                 });
  return base::JsonArray(settings);
}

std::string RouteJson(const message::Route& route) {
  std::vector<std::string> sinks;
  for (const std::string& sink : route.destinations) sinks.push_back(base::JsonQuote(sink));
  return base::JsonObject()
      .Add("topics", route.topics)
      .AddRaw("sinks", base::JsonArray(sinks))
      .Add("ordered", route.ordered)
      .Add("on_dead", route.waits_for_dead ? "wait" : "skip")
      .Finish();
}

std::string TableJson(const TableConfig& table) {
  base::JsonObject json;
  json.Add("name", table.name).Add("relays", table.relays).Add("cleans", table.cleans);
  json.AddRaw("settings", SettingsJson(table, true));
  if (table.routes.empty()) return json.Finish();
  std::vector<std::string> routes, sinks;
  for (const message::Route& route : table.routes) routes.push_back(RouteJson(route));
  for (const Destination& sink : table.destinations) {
    sinks.push_back(base::JsonObject()
                        .Add("name", sink.name)
                        .AddRaw("settings", SettingsJson(sink, true))
                        .Finish());
  }
  return json.AddRaw("routes", base::JsonArray(routes))
      .AddRaw("sinks", base::JsonArray(sinks))
      .Finish();
}

}  // namespace

std::string OriginOf(const Resolved& resolved, std::string_view key) {
  const auto found = resolved.origins.find(key);
  return (found == resolved.origins.end() ? Origin{} : found->second).ToString();
}

void ForEachSetting(const Resolved& resolved, bool table_keys,
                    const std::function<void(const Key&, const std::string& value,
                                             const std::string& origin)>& each) {
  for (const Key& key : Keys()) {
    const bool is_alias = !KeysSetBy(key.name).empty();
    if (is_alias || (table_keys && key.table_name.empty())) continue;
    each(key, key.PrintMasked(resolved.settings), OriginOf(resolved, key.name));
  }
}

std::string ToJson(const Config& config) {
  std::vector<std::string> tables;
  for (const TableConfig& table : config.tables) tables.push_back(TableJson(table));
  return base::JsonObject()
      .AddRaw("settings", SettingsJson(config, false))
      .AddRaw("tables", base::JsonArray(tables))
      .Finish();
}

}  // namespace outbox::config
