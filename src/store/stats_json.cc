#include "store/stats_json.h"

#include "base/json_object.h"

namespace outbox::store {

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
      .Add("delivered_exact", stats.delivered_exact)
      .Add("capped", stats.capped)
      .AddRaw("oldest_age_ms",
              stats.oldest_age ? std::to_string(stats.oldest_age->count()) : "null");
  return json.Finish();
}

}  // namespace outbox::store
