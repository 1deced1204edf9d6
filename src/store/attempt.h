// Attempt: what became of one try to deliver a message, as `<table>_attempt` keeps it.
//
// Attempts are noted only where RelayStoreOptions::attempt_history says so, in the transaction that
// settles them; one that was cut off is noted by the claim that takes its lease over.
//
// Thread-safety: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "outbox/message.h"
#include "outbox/options.h"
#include "store/relay_store.h"

namespace outbox::store {

enum class AttemptResult : std::uint8_t { kDelivered, kRetry, kDead, kReleased, kNoOutcome };

// The texts of the column `result`: "no_outcome".
std::string_view ToString(AttemptResult result) noexcept;
std::optional<AttemptResult> ParseAttemptResult(std::string_view text) noexcept;

struct Attempt {
  // Empty where the table has no routes, and of an attempt that was cut off in the message's own
  // row.
  std::string destination;
  int attempt = 0;         // starts anew when an operator retries the message
  std::string worker;      // the relay's name
  Timestamp started_at{};  // claimed
  Timestamp ended_at{};    // settled; without an outcome: the lease ran out
  AttemptResult result = AttemptResult::kNoOutcome;
  std::string error_class;  // as ToString(Disposition); empty when there was no error
  std::string error;
};

// Of a message with more, the newest are shown.
inline constexpr std::size_t kAttemptsShownMax = 100;

AttemptResult ResultOf(Outcome::Kind kind) noexcept;

// Whether such an outcome is noted.
bool IsNoted(AttemptHistory history, const Outcome& outcome) noexcept;

// The relay's name in a lease's token, "name/claim".
std::string_view WorkerOf(std::string_view token) noexcept;

}  // namespace outbox::store
