// Stage: what an end-to-end test plays on. A database of its own with one migrated outbox table and
// the table `expected`, a folder for the sinks' files, and the real outboxd.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/enqueue.h"
#include "tests/e2e/support/ledger.h"
#include "tests/e2e/support/scratch_database.h"
#include "tests/e2e/support/sql.h"
#include "tests/support/process.h"

namespace outbox::testing {

inline constexpr std::string_view kTable = "orders_outbox";

using Flags = std::vector<std::string>;

class Stage {
 public:
  // A new database on the shared server (see OUTBOX_REQUIRE_POSTGRES), or a new SQLite file. Null,
  // with the reason on standard error, when it could not be made.
  static std::unique_ptr<Stage> Make(Dialect dialect);
  // The same on a server of the test's own.
  static std::unique_ptr<Stage> MakeAt(const std::string& url);

  Dialect dialect() const { return scratch_->dialect(); }
  const std::string& url() const { return scratch_->url(); }
  const std::string& folder() const { return scratch_->folder(); }
  // A connection for the test's main thread.
  SqlConnection& sql() { return *sql_; }

  // The file that the relay called `name` delivers to.
  std::string SinkFile(std::string_view name) const;

  // Starts `outboxd relay` as `name`, delivering to SinkFile(name) unless the flags have a --sink.
  // The address of the database travels in the environment.
  std::unique_ptr<Process> StartRelay(const std::string& name, const Flags& flags = {},
                                      ProcessOptions options = {}) const;
  // Runs any outboxd command to its end.
  Finished Run(const Flags& command, ProcessOptions options = {}) const;
  // Runs a relay until nothing is left; false when it fails.
  bool Drain(const std::string& name, const Flags& flags = {}) const;

  // Rows not delivered and not dead; rows of one state; rows with a lease.
  std::int64_t Unfinished();
  std::int64_t Count(std::string_view status);
  std::int64_t Leased();
  // Every lease is over, as if its time had passed; for when no relay is left. False when that
  // could not be written.
  bool EndLeases();
  // Lines in all the sinks' files so far.
  std::size_t Delivered() const;

  // Knows what was committed, and has seen nothing yet.
  Ledger Committed();
  // Committed against delivered, over all the sinks' files.
  Verdict Judge();

 private:
  explicit Stage(std::unique_ptr<ScratchDatabase> scratch) : scratch_(std::move(scratch)) {}
  static std::unique_ptr<Stage> On(std::unique_ptr<ScratchDatabase> scratch);
  bool Prepare();

  const std::unique_ptr<ScratchDatabase> scratch_;
  std::unique_ptr<SqlConnection> sql_;
};

// "PostgreSQL" and "SQLite", for parameterised test names.
std::string DialectName(Dialect dialect);

}  // namespace outbox::testing

// Makes `stage` or ends the test: skipped when there is no PostgreSQL server, failed otherwise.
#define OUTBOX_MAKE_STAGE(stage, dialect)                                   \
  if ((dialect) == ::outbox::Dialect::kPostgres) OUTBOX_REQUIRE_POSTGRES(); \
  const auto stage = ::outbox::testing::Stage::Make(dialect);               \
  ASSERT_NE(stage, nullptr)
