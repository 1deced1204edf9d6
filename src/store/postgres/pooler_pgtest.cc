// The store through PgBouncer in transaction mode, where consecutive transactions of one client
// meet different server sessions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "store/postgres/connection.h"
#include "store/postgres/postgres_fixture.h"
#include "tests/support/process.h"
#include "tests/support/reserved_port.h"

namespace outbox::store::postgres {
namespace {

using ::outbox::testing::Process;
using ::testing::HasSubstr;
using Kind = Outcome::Kind;

class PoolerTest : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (backend_ == nullptr) return;
    if (access("/usr/sbin/pgbouncer", X_OK) != 0) GTEST_SKIP() << "pgbouncer is not installed";
    std::string folder = "/tmp/outbox-pgbouncer.XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    std::filesystem::permissions(folder_, std::filesystem::perms(0755));
    ASSERT_TRUE(StartPooler());
    direct_ = std::move(backend_);
    backend_ = Open(pooled_url_);
  }

  void TearDown() override {
    backend_.reset();
    pooler_.reset();
    PostgresTest::TearDown();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  bool StartPooler() {
    const std::size_t colon = url_.rfind(':');
    const std::string server_port = url_.substr(colon + 1, url_.rfind('/') - colon - 1);
    std::ofstream(folder_ + "/pgbouncer.ini")
        << "[databases]\n* = host=127.0.0.1 port=" << server_port << "\n[pgbouncer]\n"
        << "listen_addr = 127.0.0.1\nlisten_port = " << port_.number() << "\nunix_socket_dir =\n"
        << "auth_type = trust\nauth_file = " << folder_ << "/users\npool_mode = transaction\n"
        << "default_pool_size = 4\nserver_round_robin = 1\n"
        << "ignore_startup_parameters = extra_float_digits\n";
    std::ofstream(folder_ + "/users") << "\"postgres\" \"\"\n";
    std::vector<std::string> command{"/usr/sbin/pgbouncer", folder_ + "/pgbouncer.ini"};
    if (geteuid() == 0) {
      command.insert(command.begin(),
                     {"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"});
    }
    pooler_ = Process::Start(command);
    pooled_url_ = base::StrCat("postgres://postgres@127.0.0.1:", port_.number(), "/", database_);
    return Eventually([&] {
             PGconn* probe = PQconnectdb(pooled_url_.c_str());
             const bool up = PQstatus(probe) == CONNECTION_OK;
             PQfinish(probe);
             return up || !pooler_->Running();
           }) &&
           pooler_->Running();
  }

  // Keeps some of the pooler's server connections busy, so that others have to change.
  void Scatter() {
    std::vector<std::unique_ptr<PlainConnection>> others;
    for (int i = 0; i < 3; ++i) {
      others.push_back(std::make_unique<PlainConnection>(pooled_url_));
      others.back()->Run("BEGIN");
      others.back()->Run("SELECT 1");
    }
    for (const auto& other : others) other->Run("COMMIT");
  }

  void DeliverAll(RelayStore& store, int count) {
    int delivered = 0;
    for (int round = 0; round < 50 && delivered < count; ++round) {
      Scatter();
      const auto claim = Next(store, Batch(10));
      const auto report = claim->Settle(All(*claim, Kind::kDelivered), Soon());
      ASSERT_OK(report);
      EXPECT_TRUE(report->lost.empty());
      delivered += static_cast<int>(claim->messages().size());
    }
    EXPECT_EQ(delivered, count);
  }

  const ::outbox::testing::ReservedPort port_;
  std::string folder_;
  std::string pooled_url_;
  std::unique_ptr<Process> pooler_;
  std::unique_ptr<Backend> direct_;
};

TEST_F(PoolerTest, LeaseClaimsWork) {
  Insert(100);
  const auto store = OpenRelay();
  DeliverAll(*store, 100);
}

TEST_F(PoolerTest, AsynchronousAcksWork) {
  Insert(30);
  const auto store = OpenRelay({.async_ack = true});
  DeliverAll(*store, 30);
}

TEST_F(PoolerTest, TransactionClaimsWork) {
  Insert(100);
  const auto store = OpenRelay({.claim_mode = ClaimMode::kTransaction});
  DeliverAll(*store, 100);
}

TEST_F(PoolerTest, EnqueueLeavesNothingPreparedInSharedSessions) {
  PlainConnection producer(pooled_url_);
  for (int i = 0; i < 20; ++i) {
    Scatter();
    producer.Run("BEGIN");
    ASSERT_OK(
        Enqueue(producer.get(), kTable, {.topic = "orders.order.created.v1", .payload = "1"}));
    EXPECT_EQ(producer.Run("SELECT count(*) FROM pg_prepared_statements"), "0");
    producer.Run("COMMIT");
  }
  EXPECT_EQ(sql_->Run("SELECT count(*) FROM orders_outbox"), "20");
}

TEST_F(PoolerTest, IsFoundOutAndNoSessionStateIsUsed) {
  const auto address = std::make_shared<const Address>(Address::Parse(pooled_url_).value());
  Connection pooled(address, Plans::kPinned);
  ASSERT_OK(pooled.Open(Soon()));
  EXPECT_TRUE(pooled.pooled());
  const auto direct_address = std::make_shared<const Address>(Address::Parse(url_).value());
  Connection direct(direct_address, Plans::kPinned);
  ASSERT_OK(direct.Open(Soon()));
  EXPECT_FALSE(direct.pooled());
}

TEST_F(PoolerTest, TheLeadIsALeaseAndLeavesNothingInSharedSessions) {
  const auto one = OpenRelay({.relay_id = "one", .lease = std::chrono::hours(1)});
  const auto two = OpenRelay({.relay_id = "two", .lease = std::chrono::hours(1)});
  const auto leads = [&](RelayStore& store) {
    Scatter();
    const auto lead = store.TryLead(Soon());
    EXPECT_OK(lead);
    return lead.ok() && *lead;
  };
  for (int round = 0; round < 10; ++round) {
    EXPECT_TRUE(leads(*one));
    EXPECT_FALSE(leads(*two));
  }
  EXPECT_EQ(Value("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database ="
                  " (SELECT oid FROM pg_database WHERE datname = current_database())"),
            "0");
  EXPECT_EQ(Value("SELECT session_mark IS NULL FROM outbox.leader"), "t");
  sql_->Run("UPDATE outbox.leader SET ends_at = now() - interval '1 ms'");
  EXPECT_TRUE(leads(*two));
  two->StopLeading();
  const auto three = OpenRelay({.relay_id = "three", .lease = std::chrono::hours(1)});
  EXPECT_TRUE(leads(*three));
}

TEST_F(PoolerTest, ListeningFallsBackToPolling) {
  const auto store = OpenRelay();
  const auto watch = store->WatchForWork([] {}, Soon());
  ASSERT_FALSE(watch.ok());
  EXPECT_THAT(watch.error().message(), HasSubstr("falling back to polling"));
}

TEST_F(PostgresTest, TheServerAsksAfterOurSessions) {
  Connection connection(std::make_shared<const Address>(Address::Parse(url_).value()),
                        Plans::kPinned);
  const auto rows = connection.Execute(
      Statement("SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings"
                " WHERE name LIKE 'tcp_%'"),
      Params(), Soon());
  ASSERT_OK(rows);
  EXPECT_EQ(rows->Text(0, 0),
            "tcp_keepalives_count=3 tcp_keepalives_idle=5 tcp_keepalives_interval=3"
            " tcp_user_timeout=15000");
}

TEST_F(PostgresTest, PrepareOffSendsNoNamedStatements) {
  Insert(5);
  const auto count = [&](const std::string& url) {
    Connection connection(std::make_shared<const Address>(Address::Parse(url).value()),
                          Plans::kPinned);
    Params params;
    params.Int8(1);
    EXPECT_OK(connection.Execute(Statement("SELECT $1::bigint"), params, Soon()));
    const auto rows = connection.Execute(
        Statement(
            "SELECT count(*) FROM pg_prepared_statements WHERE statement = 'SELECT $1::bigint'"),
        Params(), Soon());
    EXPECT_OK(rows);
    return rows->Int8(0, 0);
  };
  EXPECT_EQ(count(url_), 1);
  EXPECT_EQ(count(url_ + "?prepare=off"), 0);
}

TEST_F(PostgresTest, AMissingPreparedStatementIsSentUnnamed) {
  Connection connection(std::make_shared<const Address>(Address::Parse(url_).value()),
                        Plans::kPinned);
  const Statement statement("SELECT $1::bigint");
  Params params;
  params.Int8(7);
  ASSERT_OK(connection.Execute(statement, params, Soon()));
  ASSERT_OK(connection.Run("DEALLOCATE ALL", Soon()));
  const auto rows = connection.Execute(statement, params, Soon());
  ASSERT_OK(rows);
  EXPECT_EQ(rows->Int8(0, 0), 7);
}

}  // namespace
}  // namespace outbox::store::postgres
