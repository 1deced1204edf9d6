// ClassifyError: PostgreSQL's SQLSTATE as a Status. The only place that knows SQLSTATEs.
#pragma once

#include <string_view>

#include "outbox/status.h"
#include "store/postgres/handles.h"

namespace outbox::store::postgres {

// `sqlstate` has five characters; anything else is treated as unknown. `message` is the server's
// primary message; it is cleaned and cut. An empty `hint` is replaced by ours for that class.
Status ClassifyError(std::string_view sqlstate, std::string_view message,
                     std::string_view hint = {});

// The failure in `result`.
Status ClassifyResult(const PGresult* result);

// The reason a connection could not be made, from PQerrorMessage in verbose form.
Status ClassifyConnectFailure(std::string_view message);

// True for SQLSTATEs that say a prepared statement is not where we left it: we share server
// sessions through a pooler.
bool IsForeignPreparedStatement(std::string_view sqlstate) noexcept;

// True when a prepared statement gives other columns than when it was prepared: its table was
// altered. Only a new connection, or a statement of another name, helps.
bool IsStalePlan(const Status& status) noexcept;

// True when one of the rows that a statement changes may be to blame: a trigger or a check of the
// user's says no.
bool RefusesRow(const Status& status) noexcept;

// True when a lock was not to be had: in time, or at all (a deadlock).
bool IsLockFailure(std::string_view sqlstate) noexcept;

}  // namespace outbox::store::postgres
