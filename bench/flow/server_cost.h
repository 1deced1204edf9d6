// ServerCost: what a PostgreSQL server has spent so far; the difference of two readings is what a
// run cost.
#pragma once

#include <chrono>
#include <optional>

#include "bench/pg_session.h"
#include "outbox/status.h"

namespace outbox::bench {

struct ServerCost {
  // Of all the server's processes, also those that have ended. No value when the server is on
  // another machine.
  std::optional<std::chrono::duration<double>> processor;
  double wal_bytes = 0;
  double database_bytes = 0;  // of the session's database
};

Result<ServerCost> ReadServerCost(PgSession& session);

}  // namespace outbox::bench
