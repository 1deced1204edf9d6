// PreparedStatements: what the library has prepared on a connection of the caller's.
//
// Parsing and planning an INSERT costs PostgreSQL more than running it, so a statement that comes
// again and again on one connection is prepared. Nobody has to know: libpq tells us when the
// connection is reset or destroyed, and of every result that passes by, so that a DISCARD ALL or
// DEALLOCATE ALL of the application's is noticed. Behind a pooler, where the next transaction may
// meet another session, nothing is prepared.
//
// Threads: as the connection's own. Lifetime: ends with the connection.
#pragma once

#include <libpq-events.h>
#include <libpq-fe.h>

#include <cstddef>
#include <string>
#include <unordered_map>

namespace outbox::enqueue {

class PreparedStatements {
 public:
  // Those of `connection`, which must be open; null when libpq has no memory left for them.
  static PreparedStatements* Of(PGconn* connection);

  // Counts a use of `sql`, which is to run now, and returns the name it is prepared under; null
  // when it is to be sent as text. A statement that can not be prepared fails the open transaction,
  // as running it would have; `failure` is then the server's answer, the caller's to clear.
  const char* Use(const std::string& sql, PGresult*& failure);

  // The server does not know the statements any more.
  void Forget() noexcept { statements_.clear(); }

 private:
  struct Statement {
    std::size_t uses = 0;
    std::string name;  // empty: not prepared
  };

  explicit PreparedStatements(PGconn* connection) : connection_(connection) {}

  static int OnEvent(PGEventId event, void* info, void* pass_through) noexcept;
  // True when the server process that answers is the one that greeted us.
  bool Direct();

  PGconn* const connection_;
  bool asked_ = false;
  bool direct_ = false;
  std::size_t prepared_ = 0;
  std::unordered_map<std::string, Statement> statements_;
};

}  // namespace outbox::enqueue
