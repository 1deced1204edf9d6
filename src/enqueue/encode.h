// Encoding of messages as statement parameters, in the order the enqueue statements name them.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "outbox/enqueue.h"
#include "outbox/message.h"

namespace outbox::enqueue {

inline constexpr std::size_t kFieldCount = 14;
using Fields = std::array<Executor::Param, kFieldCount>;

// One message as text parameters; empty optional texts are NULL.
Fields Encode(const NewMessage& message, const Uuid& id, Dialect dialect);

// Rows of equally many parameters as the parameters of a bulk statement: an array literal per
// column for PostgreSQL, one JSON array of arrays for SQLite.
std::vector<Executor::Param> EncodeMany(std::span<const std::vector<Executor::Param>> rows,
                                        Dialect dialect);

}  // namespace outbox::enqueue
