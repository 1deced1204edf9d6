#include "service/api/health.h"

#include <algorithm>

#include "base/json_object.h"
#include "outbox/version.h"
#include "store/stats_json.h"

namespace outbox::service {
namespace {

constexpr std::chrono::seconds kFresh{1};
constexpr std::chrono::seconds kLookTime{3};

std::string_view WordFor(bool good) { return good ? "ok" : "unavailable"; }

std::vector<RelaySeen> RelaysOf(const std::vector<RelaySeen>& all, std::string_view table) {
  std::vector<RelaySeen> own;
  std::copy_if(all.begin(), all.end(), std::back_inserter(own),
               [&](const RelaySeen& relay) { return relay.table() == table; });
  return own;
}

}  // namespace

bool StandsStill(const store::TableStats& stats, const std::vector<RelaySeen>& relays,
                 std::chrono::steady_clock::time_point since,
                 std::chrono::steady_clock::time_point now,
                 std::chrono::milliseconds stalled_after) {
  if (stats.due == 0 || !stats.oldest_age || *stats.oldest_age < stalled_after) return false;
  return std::any_of(relays.begin(), relays.end(), [&](const RelaySeen& relay) {
    const bool should = relay.state == RelayState::kRunning || relay.state == RelayState::kStarting;
    return should && now - std::max({relay.last_settle, relay.state_since, since}) >= stalled_after;
  });
}

Health::Health(Tables& tables, const RelayBoard& board, std::function<bool()> keys_ready,
               HealthOptions options)
    : tables_(tables), board_(board), keys_ready_(std::move(keys_ready)), options_(options) {}

Health::Report Health::Check(Deadline deadline) {
  const std::lock_guard lock(mutex_);
  if (!last_ || Clock::now() - looked_at_ >= kFresh) {
    last_ = Look(Deadline(std::min(deadline.at(), Deadline::After(kLookTime).at())));
    looked_at_ = Clock::now();
  }
  return *last_;
}

Health::Report Health::Look(Deadline deadline) const {
  const std::vector<RelaySeen> relays = board_.Relays();
  bool database = true;
  bool stalled = false;
  std::vector<std::string> tables, seen;
  for (const std::string& name : tables_.names()) {
    base::JsonObject json;
    json.Add("table", name);
    auto session = tables_.Borrow(name, deadline);
    const auto stats = session.ok() ? (*session)->Stats(store::Scope::All(), false, deadline)
                                    : Result<store::TableStats>(session.error());
    database = database && stats.ok();
    if (stats.ok()) {
      const bool still = StandsStill(*stats, RelaysOf(relays, name), started_, Clock::now(),
                                     options_.stalled_after);
      stalled = stalled || still;
      json.Add("stalled", still).AddRaw("stats", store::StatsJson(name, *stats));
    }
    tables.push_back(json.Finish());
  }
  for (const RelaySeen& relay : relays) seen.push_back(ToJson(relay));
  const bool keys = keys_ready_();
  const bool ready = database && keys && !stalled;
  return {.ready = ready,
          .json = base::JsonObject()
                      .Add("status", ready ? "ready" : "not_ready")
                      .Add("database", WordFor(database))
                      .Add("keys", WordFor(keys))
                      .Add("stalled", stalled)
                      .AddRaw("tables", base::JsonArray(tables))
                      .AddRaw("relays", base::JsonArray(seen))
                      .Finish()};
}

void AddHealth(Router& router, Health& health) {
  router.Add(Method::kGet, "/healthz",
             [](const Request&) {
               return JsonResponse(
                   200, base::JsonObject().Add("status", "ok").Add("version", Version()).Finish());
             },
             {.quick = true});
  router.Add(Method::kGet, "/readyz", [&health](const Request& request) {
    const Health::Report report = health.Check(request.deadline);
    return JsonResponse(report.ready ? 200 : 503, report.json);
  });
}

}  // namespace outbox::service
