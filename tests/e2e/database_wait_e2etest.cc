// `serve` and `relay` at their start, with a database that is away, silent, or refuses for good.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <fstream>
#include <regex>
#include <string_view>
#include <thread>

#include "base/text.h"
#include "tests/e2e/support/scratch_database.h"
#include "tests/support/listener.h"
#include "tests/support/postgres.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using base::StrCat;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kWaits = "msg=\"waiting for the database\"";
// Less than the time an attempt to connect may take.
constexpr std::chrono::seconds kSooner{10};

std::string UrlAt(int port) {
  return StrCat("postgres://u@127.0.0.1:", port, "/d?sslmode=disable&gssencmode=disable");
}

std::vector<std::string> RelayAt(const std::string& url, std::vector<std::string> more = {}) {
  more.insert(more.begin(),
              {OUTBOXD_PATH, "relay", "--db", url, "--table", "orders_outbox", "--sink", "null:"});
  return more;
}

Finished Outboxd(const std::string& url, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), OUTBOXD_PATH);
  return Process::Run(arguments, {.environment = {{"OUTBOX_DB", url}}});
}

// PostgreSQL as it is while it starts: it takes connections and refuses every one.
class StartingServer {
 public:
  StartingServer()
      : thread_([this] {
          for (int fd = listener_.Accept(); fd >= 0; fd = listener_.Accept()) Refuse(fd);
        }) {}
  ~StartingServer() {
    listener_.Shutdown();
    thread_.join();
  }

  int port() const { return listener_.port(); }

 private:
  static void Refuse(int fd) {
    using namespace std::string_view_literals;
    constexpr std::string_view kFields =
        "SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0"sv;
    char startup[1024];
    if (recv(fd, startup, sizeof(startup), 0) > 0) {
      std::string answer = {'E', 0, 0, 0, static_cast<char>(kFields.size() + 4)};
      answer += kFields;
      send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
    }
    close(fd);
  }

  Listener listener_;
  std::thread thread_;
};

TEST(DatabaseWait, RelayAndServeStartBeforeTheirDatabase) {
  OUTBOX_REQUIRE_POSTGRES();
  const auto server = PrivatePostgres::Start();
  ASSERT_NE(server, nullptr);
  const std::string& url = server->url();
  ASSERT_EQ(Outboxd(url, {"migrate", "up", "--table", "orders_outbox"}).exit_code, 0);
  ASSERT_EQ(Outboxd(url, {"enqueue", "--table", "orders_outbox", "--topic",
                          "orders.order.created.v1", "--payload", "{}"})
                .exit_code,
            0);
  server->Stop();

  const TempFolder folder;
  std::ofstream(folder.File("serve.toml"))
      << "database = \"" << url << "\"\n[[table]]\nname = \"orders_outbox\"\nsink = \"null:\"\n";
  auto relay = Process::Start(RelayAt(url));
  auto serve = Process::Start({OUTBOXD_PATH, "serve", "--config", folder.File("serve.toml")});
  for (const auto* process : {relay.get(), serve.get()}) {
    ASSERT_TRUE(WaitFor([&] { return process->Errors().find(kWaits) != std::string::npos; }))
        << process->Errors();
  }
  server->StartAgain();
  for (auto* process : {relay.get(), serve.get()}) {
    EXPECT_TRUE(WaitFor([&] {
      return process->Errors().find("msg=\"the database answers\"") != std::string::npos;
    })) << process->Errors();
  }
  EXPECT_TRUE(WaitFor([&] {
    return Outboxd(url, {"stats", "--exact", "--json"}).standard_output.find("\"delivered\":1") !=
           std::string::npos;
  })) << relay->Errors()
      << serve->Errors();
  for (auto* process : {relay.get(), serve.get()}) {
    process->Signal(SIGTERM);
    EXPECT_EQ(process->Wait(kPatience), 0) << process->Errors();
  }
}

TEST(DatabaseWait, EndsAfterTheTimeItWasGiven) {
  const StartingServer server;
  const Finished finished = Process::Run(RelayAt(UrlAt(server.port()), {"--wait-for-db", "5s"}));
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.standard_error,
              AllOf(HasSubstr(kWaits), HasSubstr("the database system is starting up"),
                    HasSubstr("\noutboxd: PostgreSQL: the database system is starting up (57P03)"),
                    HasSubstr("it was waited for 5s (database_wait)")));
  // It asks several times and complains once.
  const std::regex waits(kWaits);
  EXPECT_EQ(std::distance(std::sregex_iterator(finished.standard_error.begin(),
                                               finished.standard_error.end(), waits),
                          std::sregex_iterator()),
            1)
      << finished.standard_error;
}

TEST(DatabaseWait, IsNotForTasksUnlessAskedFor) {
  const StartingServer server;
  const std::string url = UrlAt(server.port());
  const Finished drain = Process::Run(RelayAt(url, {"--drain"}));
  EXPECT_EQ(drain.exit_code, 1);
  EXPECT_THAT(drain.standard_error, AllOf(HasSubstr("is starting up"), Not(HasSubstr(kWaits))));
  EXPECT_THAT(Process::Run(RelayAt(url, {"--drain", "--wait-for-db", "5s"})).standard_error,
              HasSubstr(kWaits));
  const Finished stats = Outboxd(url, {"stats"});
  EXPECT_EQ(stats.exit_code, 1);
  EXPECT_THAT(stats.standard_error,
              AllOf(HasSubstr("hint: the database is not ready"), Not(HasSubstr("again"))));
}

TEST(DatabaseWait, EndsAtOnceOnWhatItCanNotMend) {
  OUTBOX_REQUIRE_POSTGRES();
  const auto scratch = ScratchDatabase::Make(Dialect::kPostgres);
  ASSERT_NE(scratch, nullptr);
  const std::string absent =
      std::regex_replace(scratch->url(), std::regex("(//[^/]*/)[^?]*"), "$1no_such_database");
  for (const auto& [url, why] :
       {std::pair<std::string, std::string>{absent, "\"no_such_database\" does not exist"},
        {scratch->url(), "orders_outbox does not exist"},
        {"sqlite:" + scratch->folder() + "/absent.db", "no such file"},
        {"mysql://x", "is not a database address"}}) {
    const Finished finished = Process::Run(RelayAt(url));
    EXPECT_NE(finished.exit_code, 0);
    EXPECT_THAT(finished.standard_error, AllOf(HasSubstr(why), Not(HasSubstr(kWaits))));
  }
}

TEST(DatabaseWait, ASignalEndsItEvenWhileItConnects) {
  const Listener silent;
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--drain"}, {"--wait-for-db", "0"}}) {
    const auto relay = Process::Start(RelayAt(UrlAt(silent.port()), more));
    const int connection = silent.Accept();
    ASSERT_GE(connection, 0);
    relay->Signal(SIGTERM);
    EXPECT_EQ(relay->Wait(kSooner), 0) << relay->Errors();
    close(connection);
  }
}

TEST(DatabaseWait, ASignalEndsItBetweenTwoAttempts) {
  const StartingServer server;
  const auto relay = Process::Start(RelayAt(UrlAt(server.port())));
  ASSERT_TRUE(WaitFor([&] { return relay->Errors().find(kWaits) != std::string::npos; }));
  relay->Signal(SIGTERM);
  EXPECT_EQ(relay->Wait(kPatience), 0) << relay->Errors();
}

}  // namespace
}  // namespace outbox::testing
