// SqlConnection: a test's own connection to PostgreSQL or SQLite, apart from the code under test.
//
// Producers and oracles use it, so that what they say does not depend on the stores.
// Threads: as the driver's: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/enqueue.h"

namespace outbox::testing {

class SqlConnection {
 public:
  using Rows = std::vector<std::vector<std::string>>;  // text form; NULL is empty

  // `postgres://…` or `sqlite:PATH` (created when missing; waits up to 30 s for a lock).
  // Null when the server is not there.
  static std::unique_ptr<SqlConnection> Open(const std::string& url);
  virtual ~SqlConnection() = default;

  // False when a statement failed; error() says why.
  virtual bool Execute(const std::string& sql) = 0;
  // No rows when the statement failed.
  virtual Rows Query(const std::string& sql) = 0;
  virtual const std::string& error() const = 0;

  virtual Result<std::vector<Enqueued>> EnqueueMany(std::string_view table,
                                                    std::span<const NewMessage> messages) = 0;

  // The first column of the first row; -1 when there is none.
  std::int64_t Number(const std::string& sql);
  // The first column of every row.
  std::vector<std::string> Column(const std::string& sql);
};

}  // namespace outbox::testing
