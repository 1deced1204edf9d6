#include "store/control_json.h"

#include "base/text.h"

namespace outbox::store {

std::string RelayName(const RelayBeat& relay) {
  return relay.sink.empty() ? relay.table : base::StrCat(relay.table, "/", relay.sink);
}

void AddRelay(base::JsonObject& json, const ListedRelay& relay) {
  json.Add("process", relay.process.id)
      .Add("host", relay.process.host)
      .Add("pid", relay.process.pid)
      .Add("version", relay.process.version)
      .Add("started_at", base::FormatTimestamp(relay.started_at))
      .Add("beat_at", base::FormatTimestamp(relay.beat_at))
      .Add("beat_age_ms", relay.beat_age.count())
      .Add("gone", relay.gone)
      .Add("in_flight", relay.relay.in_flight);
}

void AddPause(base::JsonObject& json, const RelayPause* pause) {
  json.Add("paused", pause != nullptr);
  if (pause != nullptr) json.AddRaw("pause", ToJson(*pause));
}

std::string ToJson(const ListedRelay& relay, const RelayPause* pause) {
  base::JsonObject json;
  json.Add("name", RelayName(relay.relay))
      .Add("table", relay.relay.table)
      .AddUnlessEmpty("sink", relay.relay.sink)
      .Add("state", relay.gone ? std::string("gone") : relay.relay.state);
  if (relay.relay.leading) json.Add("leading", *relay.relay.leading && !relay.gone);
  AddPause(json, pause);
  AddRelay(json, relay);
  json.Add("delivered", relay.relay.delivered).Add("failed", relay.relay.failed);
  return json.Finish();
}

std::string ToJson(const RelayPause& pause) {
  return base::JsonObject()
      .Add("table", pause.table)
      .AddUnlessEmpty("sink", pause.sink)
      .Add("since", base::FormatTimestamp(pause.since))
      .Add("by", pause.by)
      .AddUnlessEmpty("reason", pause.reason)
      .Finish();
}

std::string ToJson(const AuditRecord& record) {
  return base::JsonObject()
      .Add("number", record.number)
      .Add("at", base::FormatTimestamp(record.at))
      .Add("actor", record.audit.actor)
      .Add("action", record.action)
      .Add("table", record.table)
      .AddRaw("filter", record.audit.filter)
      .Add("matched", record.audit.matched)
      .Add("changed", record.changed)
      .AddUnlessEmpty("request_id", record.audit.request_id)
      .Finish();
}

}  // namespace outbox::store
