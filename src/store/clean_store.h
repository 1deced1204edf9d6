// CleanStore: what the cleaner needs of a database. One bounded delete per call.
//
// Threads: an instance is used by one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>

#include "outbox/deadline.h"
#include "outbox/status.h"

namespace outbox::store {

class CleanStore {
 public:
  virtual ~CleanStore() = default;

  // Deletes up to `limit` rows delivered more than `retention` ago by the database's clock, oldest
  // first, and returns how many. Rows with open deliveries to other sinks stay; pending, processing
  // and dead rows are never touched. A call that finds less than `limit` ends a round: the next one
  // looks at those again that stayed.
  virtual Result<std::size_t> PurgeDelivered(std::chrono::milliseconds retention, std::size_t limit,
                                             Deadline deadline) = 0;
  // The same for rows that died more than `retention` ago, each call from the start.
  virtual Result<std::size_t> PurgeDead(std::chrono::milliseconds retention, std::size_t limit,
                                        Deadline deadline) = 0;
  // Looks at up to `limit` attempts, from where the last call ended, and deletes those whose
  // message is gone; returns how many. Deleting a message takes its attempts along: these are
  // left-overs, of a history that was switched off where delivered rows are not kept.
  virtual Result<std::size_t> PurgeAttempts(std::size_t limit, Deadline deadline) = 0;
  // Looks at the `limit` oldest audit records of this table and deletes those older than
  // `retention`, which counts as CleanerOptions::kAuditRetentionMin where it is less; returns how
  // many. kSchema where the shared objects are those of an older installation.
  virtual Result<std::size_t> PurgeAudit(std::chrono::milliseconds retention, std::size_t limit,
                                         Deadline deadline) = 0;
};

}  // namespace outbox::store
