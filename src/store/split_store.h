// SplitStore: turns messages that go to several destinations into one delivery each.
//
// A message of a table with routes is not claimed itself. It is split, in one transaction, into
// deliveries with a state of their own; RelayStores opened for a destination claim and settle
// those. The message is complete when its deliveries are decided.
//
// Threads: an instance is used by one thread at a time; WatchForWork calls back from its own.
#pragma once

#include <cstddef>
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
};

struct SplitReport {
  std::size_t messages = 0;  // found, routed or not
  std::size_t deliveries = 0;
  std::size_t unrouted = 0;
};

class SplitStore {
 public:
  virtual ~SplitStore() = default;

  // Splits up to `limit` messages that are due, oldest first. Several processes may try at once;
  // one at a time does it, which keeps deliveries of one key in order, and the others find nothing.
  virtual Result<SplitReport> Split(const message::Routes& routes, std::size_t limit,
                                    Deadline deadline) = 0;

  // Completes messages whose deliveries are decided but whose completion was cut off by a crash.
  // Returns how many.
  virtual Result<std::size_t> CompleteLeftOver(std::size_t limit, Deadline deadline) = 0;

  // Destinations that have deliveries waiting, whether or not they still have a route.
  virtual Result<std::vector<std::string>> WaitingDestinations(Deadline deadline) = 0;

  // As RelayStore's.
  virtual Result<std::unique_ptr<Watch>> WatchForWork(std::function<void()> on_work,
                                                      Deadline deadline) = 0;
  virtual bool watch_is_free() const noexcept = 0;
};

}  // namespace outbox::store
