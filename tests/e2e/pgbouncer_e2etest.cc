// Through PgBouncer in transaction mode: no session of the relay's own, and everything still holds.
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/text.h"
#include "tests/e2e/support/producer.h"
#include "tests/e2e/support/stage.h"
#include "tests/support/postgres.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;
namespace fs = std::filesystem;

constexpr const char* kProgram = "/usr/sbin/pgbouncer";

// A pooler in front of the shared server, on a unix socket in a folder of its own.
class Pooler {
 public:
  explicit Pooler(const std::string& server_url) {
    std::string pattern = "/tmp/outbox-bouncer.XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) return;
    folder_ = pattern;
    const std::string port = server_url.substr(server_url.rfind(':') + 1,
                                               server_url.rfind('/') - server_url.rfind(':') - 1);
    std::ofstream(folder_ + "/users.txt") << "\"postgres\" \"\"\n";
    std::ofstream(folder_ + "/bouncer.ini")
        << "[databases]\n* = host=127.0.0.1 port=" << port
        << "\n[pgbouncer]\nunix_socket_dir = " << folder_
        << "\nlisten_port = 6432\nauth_type = trust\nauth_file = " << folder_
        << "/users.txt\npool_mode = transaction\ndefault_pool_size = 3\nmax_client_conn = 100\n";
    // PgBouncer refuses to run as root.
    const passwd* owner = geteuid() == 0 ? getpwnam("postgres") : getpwuid(geteuid());
    if (chown(folder_.c_str(), owner->pw_uid, owner->pw_gid) != 0) return;
    process_ = Process::Start({kProgram, "-u", owner->pw_name, folder_ + "/bouncer.ini"});
  }
  ~Pooler() {
    process_.reset();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Pooler(const Pooler&) = delete;
  Pooler& operator=(const Pooler&) = delete;

  std::string Url(const std::string& server_url) const {
    return StrCat("host=", folder_,
                  " port=6432 user=postgres dbname=", server_url.substr(server_url.rfind('/') + 1));
  }
  bool Ready(const std::string& server_url) const {
    return WaitFor([&] { return SqlConnection::Open(Url(server_url)) != nullptr; });
  }
  std::string Errors() const { return process_ == nullptr ? "" : process_->Errors(); }

 private:
  std::string folder_;
  std::unique_ptr<Process> process_;
};

TEST(PgBouncer, InTransactionModeCarriesTheRelayAndItsCrashes) {
  OUTBOX_REQUIRE_POSTGRES();
  if (!fs::exists(kProgram)) GTEST_SKIP() << "pgbouncer is not installed: run 'make deps'";
  constexpr std::size_t kWindow = 100;
  constexpr std::size_t kKills = 3;
  const auto stage = Stage::Make(Dialect::kPostgres);
  ASSERT_NE(stage, nullptr);
  const Pooler bouncer(stage->url());
  ASSERT_TRUE(bouncer.Ready(stage->url())) << bouncer.Errors();
  ASSERT_TRUE(Produce(stage->sql(), {.per_transaction = 100}, 60));

  const ProcessOptions through{.environment = {{"OUTBOX_DB", bouncer.Url(stage->url())}}};
  const Flags flags{"--batch-size", "50", "--window",       std::to_string(kWindow),
                    "--lease",      "5s", "--max-attempts", "unlimited"};
  // Two at once, so that transactions of different clients meet on one server connection.
  const auto steady = stage->StartRelay("steady", flags, through);
  for (std::size_t kill = 0; kill < kKills; ++kill) {
    const auto relay = stage->StartRelay("victim", flags, through);
    ASSERT_TRUE(WaitFor([&] { return relay->Errors().find("relay running") != std::string::npos; }))
        << relay->Errors();
    // Counted before there is more to deliver: the other one might have delivered all there was.
    const std::size_t before = stage->Delivered();
    ASSERT_TRUE(Produce(stage->sql(), {.per_transaction = 100}, 20));
    ASSERT_TRUE(WaitFor([&] { return stage->Delivered() > before + 300; })) << relay->Errors();
    relay->Kill();
  }
  ASSERT_TRUE(WaitFor([&] { return stage->Unfinished() == 0; })) << steady->Errors();

  const Verdict verdict = stage->Judge();
  PrintVerdict("PgBouncer", verdict, kKills, kKills * kWindow);
  EXPECT_EQ(verdict.lost + verdict.phantom, 0u);
  EXPECT_LE(verdict.duplicated, kKills * kWindow);
  EXPECT_EQ(verdict.events, 10'800u);
}

TEST(PgBouncer, InTransactionModeCarriesOneLeaderAtATime) {
  OUTBOX_REQUIRE_POSTGRES();
  if (!fs::exists(kProgram)) GTEST_SKIP() << "pgbouncer is not installed: run 'make deps'";
  constexpr std::size_t kWindow = 100;
  constexpr std::size_t kKills = 2;
  const auto stage = Stage::Make(Dialect::kPostgres);
  ASSERT_NE(stage, nullptr);
  const Pooler bouncer(stage->url());
  ASSERT_TRUE(bouncer.Ready(stage->url())) << bouncer.Errors();

  const ProcessOptions through{.environment = {{"OUTBOX_DB", bouncer.Url(stage->url())}}};
  const Flags flags{"--single-active",       "--batch-size", "50", "--window",
                    std::to_string(kWindow), "--lease",      "5s"};
  const auto leader = [&] {
    const auto names = stage->sql().Column(
        "SELECT split_part(token, '/', 1) FROM outbox.leader WHERE ends_at > now()");
    return names.empty() ? "" : names[0];
  };
  std::map<std::string, std::unique_ptr<Process>> relays;
  for (const char* name : {"one", "two", "three"}) {
    relays[name] = stage->StartRelay(name, flags, through);
  }
  ASSERT_TRUE(WaitFor([&] { return !leader().empty(); }));
  for (std::size_t kill = 0; kill < kKills; ++kill) {
    ASSERT_TRUE(Produce(stage->sql(), {.per_transaction = 100}, 20));
    ASSERT_TRUE(WaitFor([&] { return stage->Unfinished() == 0; }));
    const std::string killed = leader();
    ASSERT_TRUE(Produce(stage->sql(), {.per_transaction = 100}, 20));
    relays.at(killed)->Kill();
    ASSERT_TRUE(WaitFor([&] { return !leader().empty() && leader() != killed; }));
  }
  ASSERT_TRUE(WaitFor([&] { return stage->Unfinished() == 0; }));
  EXPECT_EQ(
      stage->sql().Number("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database ="
                          " (SELECT oid FROM pg_database WHERE datname = current_database())"),
      0);
  const Verdict verdict = stage->Judge();
  PrintVerdict("PgBouncer, single-active", verdict, kKills, kKills * kWindow);
  EXPECT_EQ(verdict.lost, 0u);
  EXPECT_EQ(verdict.phantom, 0u);
  EXPECT_LE(verdict.duplicated, kKills * kWindow);
}

}  // namespace
}  // namespace outbox::testing
