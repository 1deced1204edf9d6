#include "store/stats_json.h"

#include <vector>

#include "base/json_object.h"

namespace outbox::store {
namespace {

// The members that are estimates.
std::vector<std::string> Estimated(const TableStats& stats) {
  std::vector<std::string> names;
  if (stats.live_estimated) {
    names = {R"("pending")", R"("due")", R"("retrying")", R"("processing")", R"("stale")"};
  }
  if (stats.dead_estimated) names.emplace_back(R"("dead")");
  if (stats.delivered_estimated) names.emplace_back(R"("delivered")");
  return names;
}

}  // namespace

std::string StatsJson(const std::string& table, const TableStats& stats) {
  base::JsonObject json;
  json.Add("table", table)
      .Add("pending", stats.pending)
      .Add("due", stats.due)
      .Add("retrying", stats.retrying)
      .Add("processing", stats.processing)
      .Add("stale", stats.stale)
      .Add("dead", stats.dead)
      .Add("delivered", stats.delivered)
      .AddRaw("estimated", base::JsonArray(Estimated(stats)))
      .AddRaw("oldest_age_ms",
              stats.oldest_age ? std::to_string(stats.oldest_age->count()) : "null");
  return json.Finish();
}

}  // namespace outbox::store
