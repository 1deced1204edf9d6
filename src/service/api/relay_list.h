// RelayList: the relays of all processes as the database knows them, with what this process knows
// better about its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "service/api/relay_board.h"
#include "store/control_store.h"

namespace outbox::service {

struct RelayList {
  std::vector<store::ListedRelay> relays;
  std::vector<store::RelayPause> pauses;

  // Whether a relay that is not gone has this name.
  bool Has(std::string_view name) const;
};

// {"relays":[…],"pauses":[…]}. `own` are the relays of the process with this id; one that has not
// beaten yet is listed all the same.
std::string ToJson(const RelayList& list, const std::vector<RelaySeen>& own,
                   std::string_view process);

}  // namespace outbox::service
