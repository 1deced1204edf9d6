// SplitStore: the only reader of due messages of a table with routes.
//
// A message that goes to one destination keeps its state in its own row: it is leased there for the
// relay of that destination, if that has asked for work. Any other is split into deliveries with a
// state of their own, which RelayStores opened for a destination claim and settle; the message is
// complete when its deliveries are decided. Both happen in one transaction.
//
// Threads: an instance is used by one thread at a time; WatchForWork calls back from its own. The
// claims follow RelayStore's rules, but for Settle, which any thread may call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "message/routes.h"
#include "outbox/deadline.h"
#include "outbox/options.h"
#include "outbox/status.h"
#include "store/relay_store.h"

namespace outbox::store {

struct SplitOptions {
  std::string table;
  RelayFilter filter;
  message::Unrouted unrouted = message::Unrouted::kKeep;
  Completion completion = Completion::kAll;
  bool keep_delivered = true;
  // Notes attempts that were cut off, of messages in their own rows.
  AttemptHistory attempt_history = AttemptHistory::kOff;
  std::size_t last_error_bytes_max = 2048;  // as RelayStoreOptions'
  // The relays of this process for which messages may be leased in their own rows; each has a
  // destination.
  std::vector<RelayStoreOptions> lanes;
};

// What the relay of a destination takes now, of messages that go to it alone.
struct LaneRequest {
  std::string destination;
  // A limit of 0: no more at the moment, but soon. What is beyond the limit is left alone.
  ClaimRequest claim;
  // What is beyond the limit becomes deliveries instead: it is in the way of other lanes.
  bool spills = false;
};

struct LaneClaim {
  std::string destination;
  std::unique_ptr<Claim> claim;
};

struct SplitRequest {
  std::size_t limit = 1;
  // Messages to a destination that is not among these become deliveries.
  std::vector<LaneRequest> lanes;
  bool spare_expired = false;  // as ClaimRequest's
};

struct SplitReport {
  std::size_t found = 0;
  std::size_t messages = 0;  // that became deliveries, or have no route
  std::size_t deliveries = 0;
  std::size_t unrouted = 0;
  std::size_t left_alone = 0;     // their lane takes no more at the moment
  std::vector<LaneClaim> claims;  // at most one for each lane
};

// A page of the messages that were split.
struct LeftOverReport {
  std::size_t looked_at = 0;
  std::size_t completed = 0;
  std::int64_t last_seq = 0;  // of those looked at
};

class SplitStore {
 public:
  virtual ~SplitStore() = default;

  // Leases or splits up to `limit` messages that are due, oldest first. Several processes may try
  // at once; one at a time does it, which keeps deliveries of one key in order, and the others find
  // nothing. A message that has deliveries already, or an order, is never leased in its own row.
  virtual Result<SplitReport> Split(const message::Routes& routes, const SplitRequest& request,
                                    Deadline deadline) = 0;

  // Looks at up to `limit` messages that were split, from behind `after_seq` on, and completes
  // those that should be: their completion was cut off by a crash, or somebody deleted deliveries.
  // Fewer looked at than asked for: that was the end.
  virtual Result<LeftOverReport> CompleteLeftOver(std::int64_t after_seq, std::size_t limit,
                                                  Deadline deadline) = 0;

  // Destinations that have deliveries waiting, whether or not they still have a route.
  virtual Result<std::vector<std::string>> WaitingDestinations(Deadline deadline) = 0;

  // As RelayStore's.
  virtual Result<std::unique_ptr<Watch>> WatchForWork(std::function<void()> on_work,
                                                      Deadline deadline) = 0;
  virtual bool watch_is_free() const noexcept = 0;
};

}  // namespace outbox::store
