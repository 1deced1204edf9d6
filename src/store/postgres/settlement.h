// Settlement: outcomes of a claim as the arrays its settle statements take.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "outbox/message.h"
#include "outbox/uuid.h"
#include "store/postgres/params.h"
#include "store/relay_store.h"

namespace outbox::store::postgres {

// A claimed message and where its row is.
struct ClaimedRow {
  std::int64_t seq = 0;
  Tid tid;
  bool ordered = false;
  bool settled = false;
};

// Columns of equal length, one entry per outcome.
struct Settlement {
  Settlement(std::span<const Outcome> outcomes, std::span<const Message> messages,
             std::span<const ClaimedRow> rows);

  // The parameters $1 to $4 of settle.sql, and of settle_transaction.sql.
  Params ById() const;
  Params ByTid() const;

  std::vector<Tid> tids;
  std::vector<Uuid> ids;
  std::vector<std::int16_t> kinds;
  std::vector<std::int64_t> retry_ms;
  std::vector<std::string> errors;
};

// What the sink's answers asked for, one entry per outcome, as the statements that keep a history
// of attempts take it: empty when there was no error.
std::vector<std::string> ErrorClasses(std::span<const Outcome> outcomes);

// The numbers that settle.sql gives to the kinds.
std::int16_t KindNumber(Outcome::Kind kind) noexcept;

}  // namespace outbox::store::postgres
