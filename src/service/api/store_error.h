// StoreError: a failure of the database is ours, not the client's.
//
// To whoever asks a store, "not found" is a table and "permission" is a role of the database; to a
// client of the API the same words would be about his message and his token. So what a store failed
// with becomes kInternal, or kUnavailable where it may work in a moment. Message and hint stay, for
// the log. What a store has to say about the input (a cursor, a filter) stays as it is, and what a
// client is to know of a message's state is no failure (RepairResult).
//
// Threads: any.
#pragma once

#include <utility>

#include "outbox/status.h"

namespace outbox::service {

Status FromStore(const Status& error);

template <typename T>
Result<T> FromStore(Result<T> result) {
  if (result.ok()) return result;
  return FromStore(result.error());
}

}  // namespace outbox::service
