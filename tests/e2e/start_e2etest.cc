// `serve` and `relay` between their start and the first message: what they open, and signals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "base/text.h"
#include "tests/e2e/support/scratch_database.h"
#include "tests/e2e/support/sql.h"
#include "tests/support/postgres.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kWaiting =
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
    "wait_event_type = 'Lock'";

class StartTest : public ::testing::Test {
 protected:
  void SetUp() override {
    OUTBOX_REQUIRE_POSTGRES();
    database_ = ScratchDatabase::Make(Dialect::kPostgres);
    ASSERT_NE(database_, nullptr);
    for (const char* const table : {"orders_outbox", "mails_outbox"}) {
      ASSERT_EQ(Process::Run({OUTBOXD_PATH, "migrate", "up", "--table", table},
                             {.environment = {{"OUTBOX_DB", database_->url()}}})
                    .exit_code,
                0);
    }
    watcher_ = SqlConnection::Open(database_->url());
    blocker_ = SqlConnection::Open(database_->url());
    // Whoever opens a table looks here.
    ASSERT_TRUE(blocker_->Execute("BEGIN"));
    ASSERT_TRUE(blocker_->Execute("LOCK TABLE outbox.migration IN ACCESS EXCLUSIVE MODE"));
    std::ofstream(folder_.File("serve.toml"))
        << "database = \"" << database_->url() << "\"\n[[table]]\nname = \"orders_outbox\"\n"
        << "sink = \"null:\"\n[[table]]\nname = \"mails_outbox\"\nsink = \"null:\"\n";
  }

  std::unique_ptr<Process> Serve() const {
    return Process::Start({OUTBOXD_PATH, "serve", "--config", folder_.File("serve.toml")});
  }
  std::unique_ptr<Process> Relay() const {
    return Process::Start({OUTBOXD_PATH, "relay", "--db", database_->url(), "--table",
                           "orders_outbox", "--table", "mails_outbox", "--sink", "null:"});
  }
  bool Waits(std::int64_t sessions) const {
    return WaitFor([&] { return watcher_->Number(kWaiting) >= sessions; });
  }

  const TempFolder folder_;
  std::unique_ptr<ScratchDatabase> database_;
  std::unique_ptr<SqlConnection> watcher_;
  std::unique_ptr<SqlConnection> blocker_;
};

TEST_F(StartTest, ASignalEndsItWhileTheDatabaseHangs) {
  for (const bool serve : {true, false}) {
    // The server does not notice that a session which waits has been left.
    const std::int64_t left = watcher_->Number(kWaiting);
    const auto process = serve ? Serve() : Relay();
    ASSERT_TRUE(Waits(left + 1)) << process->Errors();
    process->Signal(SIGTERM);
    EXPECT_EQ(process->Wait(kPatience), 0) << process->Errors();
    EXPECT_THAT(process->Errors(), HasSubstr("msg=ended waited_for=start"));
  }
}

TEST_F(StartTest, OpensItsStoresAtTheSameTime) {
  const auto process = Serve();
  // Both tables, for a relay and for a cleaner.
  EXPECT_TRUE(Waits(4)) << process->Errors();
  ASSERT_TRUE(blocker_->Execute("ROLLBACK"));
  EXPECT_TRUE(WaitFor([&] { return process->Errors().find("msg=serving") != std::string::npos; }))
      << process->Errors();
  process->Signal(SIGTERM);
  EXPECT_EQ(process->Wait(kPatience), 0) << process->Errors();
}

}  // namespace
}  // namespace outbox::testing
