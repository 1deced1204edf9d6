#include "service/api/health.h"

#include <algorithm>

#include "base/json_object.h"
#include "outbox/version.h"
#include "store/stats_json.h"

namespace outbox::service {
namespace {

constexpr std::chrono::seconds kFresh{1};
constexpr std::chrono::milliseconds kLookTime{3000};
constexpr std::chrono::milliseconds kMoment{300};

std::string_view WordFor(bool good) { return good ? "ok" : "unavailable"; }

std::vector<RelaySeen> RelaysOf(const std::vector<RelaySeen>& all, std::string_view table) {
  std::vector<RelaySeen> own;
  std::copy_if(all.begin(), all.end(), std::back_inserter(own),
               [&](const RelaySeen& relay) { return relay.table() == table; });
  return own;
}

}  // namespace

bool StandsStill(const store::TableStats& stats, const RelaysOfTable& table,
                 std::chrono::steady_clock::time_point since,
                 std::chrono::steady_clock::time_point now,
                 std::chrono::milliseconds stalled_after) {
  if (stats.due == 0 || !stats.oldest_age || *stats.oldest_age < stalled_after) return false;
  return std::any_of(table.relays.begin(), table.relays.end(), [&](const RelaySeen& relay) {
    if (relay.state != RelayState::kRunning && relay.state != RelayState::kStarting) return false;
    auto moved = std::max({relay.last_settle, relay.state_since, since});
    if (table.limited || relay.one_of_several()) moved = std::max(moved, relay.last_claim);
    return now - moved >= stalled_after;
  });
}

Health::Health(Tables& tables, const RelayBoard& board, std::function<bool()> keys_ready,
               HealthOptions options)
    : tables_(tables),
      board_(board),
      keys_ready_(std::move(keys_ready)),
      options_(std::move(options)) {}

std::string Health::Report::Json(bool details) const {
  base::JsonObject json;
  json.Add("status", stopping  ? "stopping"
                     : ready() ? "ready"
                               : "not_ready")
      .Add("database", WordFor(database))
      .Add("keys", WordFor(keys))
      .Add("stalled", stalled);
  if (details) json.AddRaw("tables", tables).AddRaw("relays", relays);
  return json.Finish();
}

Health::Report Health::Check(Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (looking_) {
    looked_.wait_for(lock, last_ ? kMoment : kLookTime, [this] { return !looking_; });
  }
  const bool fresh = last_ && Clock::now() - looked_at_ < kFresh;
  if (!fresh && !looking_) {
    looking_ = true;
    lock.unlock();
    Report report = Look(Deadline(std::min(deadline.at(), Deadline::After(kLookTime).at())));
    lock.lock();
    last_ = std::move(report);
    looked_at_ = Clock::now();
    looking_ = false;
    looked_.notify_all();
  }
  Report report = last_.value_or(Report{.database = false, .tables = "[]", .relays = "[]"});
  report.stopping = stopping_;
  return report;
}

Health::Report Health::Look(Deadline deadline) const {
  const std::vector<RelaySeen> relays = board_.Relays();
  Report report{.keys = keys_ready_()};
  std::vector<std::string> tables, seen;
  for (const std::string& name : tables_.names()) {
    base::JsonObject json;
    json.Add("table", name);
    auto session = tables_.Borrow(name, deadline);
    const auto stats = session.ok() ? (*session)->Stats(store::Scope::All(), false, deadline)
                                    : Result<store::TableStats>(session.error());
    report.database = report.database && stats.ok();
    if (!stats.ok() && report.cause.ok()) report.cause = stats.error();
    if (stats.ok()) {
      const bool still = StandsStill(
          *stats, {.relays = RelaysOf(relays, name), .limited = options_.limited.contains(name)},
          started_, Clock::now(), options_.stalled_after);
      report.stalled = report.stalled || still;
      json.Add("stalled", still).AddRaw("stats", store::StatsJson(name, *stats));
    }
    tables.push_back(json.Finish());
  }
  for (const RelaySeen& relay : relays) seen.push_back(ToJson(relay));
  report.tables = base::JsonArray(tables);
  report.relays = base::JsonArray(seen);
  return report;
}

void AddHealth(Router& router, Health& health, std::function<bool(const Request&)> may_see) {
  router.Add(Method::kGet, "/healthz",
             [](const Request&) {
               return JsonResponse(
                   200, base::JsonObject().Add("status", "ok").Add("version", Version()).Finish());
             },
             {.quick = true});
  router.Add(Method::kGet, "/readyz",
             [&health, may_see = std::move(may_see)](const Request& request) {
               const Health::Report report = health.Check(request.deadline);
               Response response =
                   JsonResponse(report.ready() ? 200 : 503, report.Json(may_see(request)));
               response.cause = report.cause;
               return response;
             },
             {.apart = true});
}

}  // namespace outbox::service
