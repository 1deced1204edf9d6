#include "config/problems_of.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "config/key.h"
#include "config/profile.h"
#include "message/routes.h"

namespace outbox::config {
namespace {

using base::StrCat;

constexpr std::chrono::milliseconds kHeartbeatMin{100};
constexpr std::chrono::hours kHeartbeatMax{1};

// Options name their fields in words of their own: "service.auth: claims.tenant: …".
std::string ServiceKey(const Resolved& resolved, std::string_view problem) {
  constexpr std::string_view kAuth = "service.auth: ";
  if (!problem.starts_with(kAuth)) return std::string(problem.substr(0, problem.find(':')));
  problem.remove_prefix(kAuth.size());
  const std::string_view field = problem.substr(0, problem.find_first_of(":["));
  if (field == "claims.tenant") return "service.auth_tenant_claim";
  if (field == "claims.permissions") return "service.auth_permissions_claim";
  if (field != "secrets") return StrCat("service.auth_", field);
  const std::string_view file = "service.auth_secret_file";
  return std::string(resolved.origins.contains(file) ? file : "service.auth_secret_env");
}

class Checker {
 public:
  explicit Checker(const Config& config) : config_(config) {}

  Problems Check() {
    for (const TableConfig& table : config_.tables) {
      const std::string where = StrCat("table ", table.name, ": ");
      if (table.relays) CheckRelay(table, where);
      if (table.cleans)
        CheckFields(table, table.origin, where, "", table.settings.cleaner.Problems());
    }
    for (const std::string& problem : config_.settings.service.Problems()) {
      AddSetting(config_, ServiceKey(config_, problem), problem);
    }
    const auto interval = config_.settings.heartbeat_interval;
    if (interval < kHeartbeatMin || interval > kHeartbeatMax) {
      AddSetting(config_, "relay.heartbeat_interval",
                 "relay.heartbeat_interval: is not between 100ms and 1h");
    }
    return std::move(problems_);
  }

 private:
  void CheckRelay(const TableConfig& table, const std::string& where) {
    CheckRequired(table, where);
    CheckFields(table, table.origin, where, "relay.", table.settings.relay.Problems());
    for (const Destination& sink : table.destinations) {
      CheckFields(sink, sink.origin, StrCat("sink '", sink.name, "': "), "relay.",
                  sink.settings.relay.Problems());
    }
    if (!table.routes.empty()) {
      CheckRoutes(table, where);
    } else if (table.settings.sink.empty() && !table.routed) {
      Add(table.origin, StrCat(where,
                               "has no sink; set relay.sink, or the table's own (--sink, "
                               "OUTBOX_RELAY_SINK)"));
    }
  }

  void CheckRoutes(const TableConfig& table, const std::string& where) {
    if (!table.settings.sink.empty()) {
      Add(FindOrigin(table, "relay.sink"),
          StrCat(where,
                 "has both a sink and routes; name that sink in a [[sink]] and route to it"));
    }
    if (!message::Routes(table.routes).exhaustive() && !table.settings.unrouted) {
      Add(table.origin, StrCat(where,
                               "its routes do not take every topic; set unrouted to error, dead or "
                               "drop, or add a route for \"#\""));
    }
  }

  void CheckRequired(const TableConfig& table, const std::string& where) {
    const Profile* profile = FindProfile(table.settings.profile);
    if (profile == nullptr) return;
    for (const std::string_view key : profile->required) {
      std::vector<std::string_view> needed = KeysSetBy(key);
      if (needed.empty()) needed.push_back(key);
      const bool chosen = std::ranges::all_of(
          needed, [&](std::string_view name) { return FindOrigin(table, name).chosen(); });
      if (chosen) continue;
      Add(table.origin, StrCat(where, "profile ", profile->name, " has no default for ", key,
                               "; set it (environment ", FindKey(key)->environment, ")"));
    }
  }

  // Problems come as "field: what is wrong"; the field leads to the place where it was set.
  void CheckFields(const Resolved& resolved, const Origin& place, const std::string& where,
                   std::string_view prefix, const std::vector<std::string>& problems) {
    for (const std::string& problem : problems) {
      std::string key = StrCat(prefix, problem.substr(0, problem.find(':')));
      if (const std::size_t dot = key.find("retry."); dot != std::string::npos) key[dot + 5] = '_';
      const Origin origin = FindOrigin(resolved, key);
      if (origin.chosen()) {
        Add(origin, StrCat(prefix, problem));
      } else {
        Add(place, StrCat(where, prefix, problem));
      }
    }
  }

  void AddSetting(const Resolved& resolved, std::string_view key, std::string_view problem) {
    const Origin origin = FindOrigin(resolved, key);
    origin.chosen() ? Add(origin, problem) : AddLine(std::string(problem));
  }

  void Add(const Origin& origin, std::string_view problem) {
    AddLine(StrCat(origin.ToString(), ": ", problem));
  }

  // The same mistake shows up once for each table it reaches.
  void AddLine(std::string line) {
    if (std::ranges::find(problems_, line) == problems_.end()) problems_.push_back(std::move(line));
  }

  const Config& config_;
  Problems problems_;
};

}  // namespace

Problems ProblemsOf(const Config& config) { return Checker(config).Check(); }

Origin FindOrigin(const Resolved& resolved, std::string_view key) {
  const auto found = resolved.origins.find(key);
  if (found != resolved.origins.end()) return found->second;
  const auto parts = KeysSetBy(key);
  return parts.empty() ? Origin{} : FindOrigin(resolved, parts.back());
}

}  // namespace outbox::config
