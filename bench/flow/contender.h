// Contender: a queue in the database that Flow measures: how producers commit events to it, and who
// consumes them.
//
// Threads: the main thread's; the transactions of `producers` each run on a thread of their own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/flow/load.h"
#include "bench/scratch.h"

namespace outbox::bench {

class Contender {
 public:
  virtual ~Contender() = default;

  virtual std::string name() const = 0;
  // Makes the queue, if it is not there, and a consumer that tells `load` of each event. `load`
  // outlives Stop.
  virtual Status Start(Load& load) = 0;
  // One for each producer of the load.
  virtual Result<std::vector<Load::Transact>> Producers() = 0;
  virtual Status Stop() = 0;
};

enum class EnqueueBy { kLibrary, kFunction };

// outboxd with a relay in this process, everything at its default but the retention.
std::unique_ptr<Contender> MakeOutboxd(Scratch& scratch, EnqueueBy by, bool keep);

// PgQ with a ticker and a consumer in this process. Needs its extension.
std::unique_ptr<Contender> MakePgq(Scratch& scratch);
// Whether the server has PgQ's extension.
Result<bool> HasPgq(Scratch& scratch);

}  // namespace outbox::bench
