#include "service/api/relay_list.h"

#include <algorithm>
#include <set>

#include "base/json_object.h"
#include "store/control_json.h"

namespace outbox::service {
namespace {

std::string_view SinkOf(const RelaySeen& relay) {
  const std::size_t slash = relay.name.find('/');
  return slash == std::string::npos ? std::string_view()
                                    : std::string_view(relay.name).substr(slash + 1);
}

// A relay of this process: its counters as they are now. `listed` may be null.
std::string OwnJson(const RelaySeen& seen, const store::ListedRelay* listed,
                    const store::RelayPause* pause) {
  base::JsonObject json;
  AddTo(json, seen);
  json.Add("failed", seen.retried + seen.dead).Add("this_process", true);
  store::AddPause(json, pause);
  if (listed != nullptr) store::AddRelay(json, *listed);
  return json.Finish();
}

}  // namespace

bool RelayList::Has(std::string_view name) const {
  return std::any_of(relays.begin(), relays.end(), [&](const store::ListedRelay& listed) {
    return !listed.gone && store::RelayName(listed.relay) == name;
  });
}

std::string ToJson(const RelayList& list, const std::vector<RelaySeen>& own,
                   std::string_view process) {
  std::vector<std::string> relays;
  std::set<std::string> listed_names;
  for (const store::ListedRelay& listed : list.relays) {
    const store::RelayPause* pause =
        store::FindPause(list.pauses, listed.relay.table, listed.relay.sink);
    const std::string name = store::RelayName(listed.relay);
    const auto seen = std::find_if(own.begin(), own.end(), [&](const RelaySeen& relay) {
      return listed.process.id == process && relay.name == name;
    });
    if (seen == own.end()) {
      relays.push_back(store::ToJson(listed, pause));
    } else {
      relays.push_back(OwnJson(*seen, &listed, pause));
      listed_names.insert(name);
    }
  }
  for (const RelaySeen& seen : own) {
    if (listed_names.contains(seen.name)) continue;
    relays.push_back(
        OwnJson(seen, nullptr, store::FindPause(list.pauses, seen.table(), SinkOf(seen))));
  }
  std::vector<std::string> pauses;
  for (const store::RelayPause& pause : list.pauses) pauses.push_back(store::ToJson(pause));
  return base::JsonObject()
      .AddRaw("relays", base::JsonArray(relays))
      .AddRaw("pauses", base::JsonArray(pauses))
      .Finish();
}

}  // namespace outbox::service
