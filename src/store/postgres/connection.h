// Connection: one libpq connection on which every call has a deadline.
//
// It opens itself: a call on a closed or broken connection connects first. Whoever depends on
// session state (an open transaction, a mark) passes the session it belongs to, and gets
// a failure instead of a silent new session.
//
// A call that misses its deadline asks the server to cancel and drops the connection. A failure
// after a statement was sent is kInDoubt, before that kRetry.
//
// Poolers. When the server process that answers is not the one the connection was greeted by, a
// pooler (PgBouncer) sits between, and consecutive transactions may meet different server sessions.
// Then no session state is used: no SET, and statements are sent unnamed. The latter holds also for
// `prepare=off` in the address, and from the moment a prepared statement turns out to be missing.
//
// Vanished hosts. In sessions of our own the server asks after a client that says nothing, so that
// one whose host is gone holds neither rows nor locks for long.
//
// Isolation. Sessions of our own are READ COMMITTED, whatever the role's default is: our statements
// pass over rows that somebody holds, and would fail beside each other otherwise.
//
// Threads: one at a time; `session` may be read by any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "outbox/deadline.h"
#include "outbox/enqueue.h"
#include "outbox/status.h"
#include "store/postgres/address.h"
#include "store/postgres/handles.h"
#include "store/postgres/params.h"
#include "store/postgres/rows.h"
#include "store/postgres/statement.h"

namespace outbox::store::postgres {

// How a connection's statements are planned.
enum class Plans : std::uint8_t {
  // Anew for each call, by the tables as they are.
  kFresh,
  // Once, and by index whatever the statistics say: the relay's few statements, whose good plan is
  // known and whose table goes from empty to millions of rows faster than statistics follow.
  kPinned,
};

class Connection {
 public:
  // Session numbers count from 1 for each Connection; 0 is "closed".
  using SessionId = std::uint64_t;

  struct Step {
    const Statement* statement;
    const Params* params;
  };

  Connection(std::shared_ptr<const Address> address, Plans plans);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Connects unless the connection is open and healthy. Fails once, with kRetry, when it was lost
  // in a transaction: what comes next must not run outside of it.
  Status Open(Deadline deadline);
  void Close() noexcept;
  // True when open and, as far as can be told without waiting, still connected.
  bool Healthy();
  SessionId session() const noexcept { return session_.load(std::memory_order_acquire); }
  // True when a pooler was found in between. Known after Open.
  bool pooled() const noexcept { return pooled_; }
  // How the database stores text: "UTF8", "LATIN1", …; "" when closed, or when a pooler hides it.
  std::string encoding() const;
  TransactionState transaction_state() const noexcept;

  // Runs one statement. With `session`, only in that session: kUnavailable, kRetry otherwise.
  Result<Rows> Execute(const Statement& statement, const Params& params, Deadline deadline,
                       std::optional<SessionId> session = std::nullopt);

  // Runs several statements in one round trip; the first failure skips the rest and is returned,
  // and a transaction that the steps began is rolled back.
  Result<std::vector<Rows>> Pipeline(std::span<const Step> steps, Deadline deadline,
                                     std::optional<SessionId> session = std::nullopt);

  // Runs a script of any number of statements without parameters.
  Status Run(const std::string& script, Deadline deadline);

  // Runs one statement with parameters and results in text form.
  Result<std::vector<Executor::Row>> ExecuteText(const std::string& sql,
                                                 std::span<const Executor::Param> params,
                                                 Deadline deadline);

  // The next notification, when one has arrived; waits for none.
  std::optional<std::string> NextNotification();
  int socket() const noexcept { return PQsocket(handle_.get()); }

 private:
  Status Connect(Deadline deadline);
  Status PollConnect(Deadline deadline);
  Status Greet(Deadline deadline);
  Status EnterSession(std::optional<SessionId> session, Deadline deadline);
  Status Prepare(const Statement& statement, Deadline deadline);
  bool Send(const Statement& statement, const Params& params);
  // Waits until PQgetResult does not block.
  Status Await(Deadline deadline);
  Result<ResultHandle> NextResult(Deadline deadline);
  // Reads everything the last command sent back; the first failure wins.
  Result<ResultHandle> Finish(Deadline deadline);
  Status ReadPipeline(std::size_t steps, Deadline deadline, std::vector<Rows>& rows);
  void RollBackLeftover(Deadline deadline);
  void CancelAndClose();
  Status LostAfterSending();
  Status LostBeforeSending();

  const std::shared_ptr<const Address> address_;
  const Plans plans_;
  ConnectionHandle handle_;
  std::atomic<SessionId> session_{0};
  SessionId sessions_opened_ = 0;
  bool pooled_ = false;
  bool prepare_ = false;
  std::unordered_set<std::string> prepared_;
};

}  // namespace outbox::store::postgres
