// Options of the relay and the cleaner: plain structs, each field with its unit, its default and
// when to change it. The defaults are the product's own profile, chosen for speed and safety;
// docs/reference/profiles.md lists them beside the named profiles.
//
// Thread-safety: values; distinct objects may be used from distinct threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "outbox/retry.h"
#include "outbox/status.h"
#include "outbox/uuid.h"

namespace outbox {

// The longest duration that an option takes: a hundred years. Sums of longer ones do not fit a
// clock. A retention of kDurationMax means for ever.
inline constexpr std::chrono::milliseconds kDurationMax{std::chrono::hours(24 * 36'500)};

enum class ClaimMode : std::uint8_t {
  // A short transaction marks the rows as leased; publishing happens outside any transaction. The
  // rows of a crashed relay are free again when the lease expires.
  kLease,
  // The rows stay locked in an open transaction while they are published. A crash frees them at
  // once, but a slow sink holds a database transaction open.
  kTransaction,
};

std::string_view ToString(ClaimMode mode) noexcept;

// When a message with several deliveries counts as delivered.
enum class Completion : std::uint8_t {
  kAll,  // all of them succeeded; dead when all are decided and one is dead
  kAny,  // one of them succeeded; dead when all are dead
};

std::string_view ToString(Completion completion) noexcept;

// Which attempts are noted in <table>_attempt, for people who ask what became of a message.
enum class AttemptHistory : std::uint8_t {
  kOff,
  kFailures,  // those that failed or ended without an outcome
  kAll,       // every one: at least one row for each message
};

std::string_view ToString(AttemptHistory history) noexcept;

// Limits a relay to some of a table's messages. Empty fields do not limit.
struct RelayFilter {
  std::optional<std::string> name_space;
  // Topic patterns, any of which may match: `*` stands for one segment or the rest of one, `#`
  // for any number of segments. "orders.*.created.v*", "billing.#".
  std::vector<std::string> topics;
  std::optional<Uuid> tenant_id;
};

struct RelayOptions {
  // "orders_outbox" or "public.orders_outbox".
  std::string table;

  // --- what is claimed ---
  ClaimMode claim_mode = ClaimMode::kLease;
  RelayFilter filter;
  // When not empty, the relay claims deliveries to this sink instead of messages
  // (docs/concepts/routing.md).
  std::string destination;
  Completion completion = Completion::kAll;
  // Messages per claim. Larger is faster up to about 1000, and repeats more after a crash.
  std::size_t batch_size = 500;
  // Messages claimed and not yet settled, at most. Bounds memory and the duplicates of a crash.
  std::size_t window = 2000;
  // How long a claim lasts without a heartbeat, and so how long the messages of a crashed relay
  // wait. A running relay extends its leases after a third of this, however long the sink takes.
  std::chrono::milliseconds lease{std::chrono::seconds(8)};

  // --- polling ---
  // While idle the wait grows from poll_min to poll_max; equal values poll at a fixed rate.
  std::chrono::milliseconds poll_min{10};
  std::chrono::milliseconds poll_max{100};
  // PostgreSQL: also listen for NOTIFY (`outboxd migrate up --notify`). It slows producers'
  // commits. Verified at start; falls back to polling, and says so, when notifications do not
  // arrive.
  bool listen = false;
  // The longest wait between two attempts to reach a database that is away; after a minute, five
  // times as long. Bounds the delay of the first message after the database is back.
  std::chrono::milliseconds reconnect_max{std::chrono::seconds(1)};

  // --- publishing ---
  // How long a Publish call may take.
  std::chrono::milliseconds dispatch_timeout{std::chrono::seconds(30)};
  // With attempts_max = 1 and leases, a crash turns all claimed messages dead, also those the sink
  // never saw: the attempt counts from the claim. Such a relay claims at most 64 messages at a
  // time.
  RetryPolicy retry;
  // Waits between probes while the sink is down: doubling from min to max, with jitter.
  std::chrono::milliseconds probe_min{500};
  std::chrono::milliseconds probe_max{std::chrono::seconds(30)};
  // Recorded errors are cut to this many bytes.
  std::size_t last_error_bytes_max = 2048;

  // --- settling ---
  // How long delivered rows are kept. Zero deletes them when they are settled, which is fastest.
  // Any other value leaves deleting to the cleaner.
  std::chrono::milliseconds retention{std::chrono::hours(24 * 7)};
  // Settles without waiting for the database's disk. A crash of the database may then repeat the
  // deliveries of the last half second; it loses none.
  bool async_ack = false;
  // Attempts noted in the statement that settles; costs a row for each. They go with their message.
  AttemptHistory attempt_history = AttemptHistory::kOff;

  // --- many relays ---
  // One relay at a time per table. The others stand by and take over when it dies, or is frozen for
  // longer than the lease.
  bool single_active = false;
  // Names this relay in locked_by. Made from host name, process id and a random part when empty.
  std::string relay_id;

  // Starts paused: nothing is claimed until Relay::Resume.
  bool start_paused = false;

  // --- stopping ---
  // Relay::Stop abandons Publish calls that still run after this long.
  std::chrono::milliseconds shutdown_timeout{std::chrono::seconds(10)};

  // Every problem, one line each and naming its field; empty when the options make sense.
  std::vector<std::string> Problems() const;
};

struct CleanerOptions {
  // Audit records are never deleted before this age.
  static constexpr std::chrono::milliseconds kAuditRetentionMin{std::chrono::hours(24 * 30)};

  bool enabled = true;
  std::string table;
  std::chrono::milliseconds interval{std::chrono::minutes(1)};
  // Delivered rows older than this are deleted; kDurationMax keeps them for ever.
  std::chrono::milliseconds retention{std::chrono::hours(24 * 7)};
  // Dead rows that died longer ago than this are deleted; zero or kDurationMax keeps them for ever.
  std::chrono::milliseconds dead_retention{0};
  // Audit records of the table's repairs and pauses that are older than this are deleted; zero or
  // kDurationMax keeps them for ever.
  std::chrono::milliseconds audit_retention{std::chrono::hours(24 * 365)};
  // Rows per delete statement, with a pause after each, so that traffic goes first.
  std::size_t batch_size = 1000;

  std::vector<std::string> Problems() const;
};

}  // namespace outbox
