// Enqueue: writes messages in the caller's own transaction.
//
//   PQexec(conn, "BEGIN");
//   ... your business statements ...
//   auto enqueued = outbox::Enqueue(conn, "public.orders_outbox",
//                                   {.topic = "orders.order.created.v1", .payload = order_json});
//   PQexec(conn, "COMMIT");     // both, or neither
//
// Nothing here talks to anything but the caller's database connection: one statement, one round
// trip (a duplicate costs a second one, to read the first message's id and seq). Input is checked
// before anything is sent, so that a refused message leaves the transaction usable.
//
// Thread-safety: as the connection's own. Calls on distinct connections may run in parallel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/message.h"
#include "outbox/status.h"

struct pg_conn;
struct sqlite3;

namespace outbox {

struct Enqueued {
  Uuid id;  // of the stored message; of the first one if this was a duplicate
  std::int64_t seq = 0;
  bool already_enqueued = false;  // no row was added
};

enum class TopicRule : std::uint8_t {
  kStrict,   // <module>.<aggregate>.<event>.vN of [a-z0-9-], under 128 characters
  kRelaxed,  // any printable text of 1 to 255 bytes
};

// Called for each message that was written, on the thread that enqueues: on several at once if
// several threads share the observer. The transaction may still roll back. Must not throw.
class EnqueueObserver {
 public:
  virtual ~EnqueueObserver() = default;
  virtual void OnEnqueued(std::string_view table, std::string_view topic,
                          bool already_enqueued) = 0;
};

struct EnqueueOptions {
  // Must agree with the table's own rule (`outboxd migrate up --topics`), which has the last word.
  TopicRule topics = TopicRule::kStrict;
  // Larger payloads are refused, and those over 16 MiB in any case. Put large documents elsewhere
  // and enqueue a reference.
  std::size_t payload_bytes_max = std::size_t{1} << 20;
  // For a counter such as outbox_enqueue_total{table,topic}. Not owned; may be null.
  EnqueueObserver* observer = nullptr;
};

// The most messages one EnqueueMany call takes, and the most bytes of their payloads and headers:
// databases take a statement of a gigabyte at most.
inline constexpr std::size_t kEnqueueManyMax = 100'000;
inline constexpr std::size_t kEnqueueManyBytesMax = std::size_t{256} << 20;

enum class Dialect : std::uint8_t { kPostgres, kSqlite };

enum class TransactionState : std::uint8_t {
  kNone,
  kOpen,
  kAborted,  // a statement has failed: only a rollback helps
  kBusy,     // another statement is under way, so the state is unknown
};

// A transaction as Enqueue sees it. Implement it to enqueue through a driver of your own (see
// examples/pqxx_adapter.h for libpqxx); Enqueue has overloads for libpq and sqlite3.
class Executor {
 public:
  using Param = std::optional<std::string>;             // text form; no value is NULL
  using Row = std::vector<std::optional<std::string>>;  // text form

  virtual ~Executor() = default;
  virtual Dialect dialect() const = 0;
  virtual TransactionState transaction_state() const = 0;
  // Runs one statement in the transaction. PostgreSQL statements use $1, SQLite's use ?1. Texts are
  // UTF-8: a PostgreSQL connection must have that as its client_encoding. Throws nothing.
  virtual Result<std::vector<Row>> Execute(const std::string& sql,
                                           std::span<const Param> params) = 0;
};

// What a failed statement means, for an Executor of your own on PostgreSQL: the five characters of
// the SQLSTATE, the primary message, and the server's hint if it gave one. Not its detail, which
// may quote the row. May be called from any thread.
Status PostgresFailure(std::string_view sqlstate, std::string_view message,
                       std::string_view hint = {});

// Adds `message` to `table` ("orders_outbox" or "public.orders_outbox") in the open transaction.
//
// kNoTransaction       no transaction is open: nothing was sent
// kTransactionAborted  the transaction has already failed: nothing was sent
// kBusy                a statement of the caller's is still running on the connection, its results
//                      are not fetched yet, it is a COPY or in pipeline mode: nothing was sent
// kInvalidArgument     a field is wrong and named: nothing was sent, the transaction is usable.
//                      Also text that is not ASCII over a libpq connection with another
//                      client_encoding than UTF8, which the server would take for other characters
//
// What the database says; on PostgreSQL the transaction is then aborted:
//
// kNotFound, kSchema   there is no such table, or it is not of this library's schema
// kPermission          the role may not enqueue; SQLite's file is read-only
// kConflict            a deadlock, a failed serialization, a lock that was not free in time
// kDeadline            the statement was cancelled or took longer than statement_timeout
// kUnavailable         the connection is lost, the server is read-only, the disk is full, SQLite's
//                      file is locked
// kInvalidArgument     a rule of the table's own, such as that of its topics
// kInternal            anything else
//
// With kConflict, kDeadline and kUnavailable roll back and run the whole transaction again, later.
// On SQLite an open transaction stays usable after most errors. But when the disk is full, a read
// or write fails or memory runs out, SQLite may roll the whole transaction back. The hint then says
// so, and sqlite3_get_autocommit() is no longer 0: later statements would commit one by one.
Result<Enqueued> Enqueue(Executor& transaction, std::string_view table, const NewMessage& message,
                         const EnqueueOptions& options = {});
Result<Enqueued> Enqueue(pg_conn* transaction, std::string_view table, const NewMessage& message,
                         const EnqueueOptions& options = {});
Result<Enqueued> Enqueue(sqlite3* transaction, std::string_view table, const NewMessage& message,
                         const EnqueueOptions& options = {});

// Adds all of `messages`, or none: one statement, results in the order given. Duplicates, also
// among the messages themselves, are reported as already enqueued.
Result<std::vector<Enqueued>> EnqueueMany(Executor& transaction, std::string_view table,
                                          std::span<const NewMessage> messages,
                                          const EnqueueOptions& options = {});
Result<std::vector<Enqueued>> EnqueueMany(pg_conn* transaction, std::string_view table,
                                          std::span<const NewMessage> messages,
                                          const EnqueueOptions& options = {});
Result<std::vector<Enqueued>> EnqueueMany(sqlite3* transaction, std::string_view table,
                                          std::span<const NewMessage> messages,
                                          const EnqueueOptions& options = {});

}  // namespace outbox
