// What strangers who open connections can take from the real program: nothing that others need.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/text.h"
#include "service/http/file_limit.h"
#include "tests/e2e/support/dialects.h"
#include "tests/e2e/support/producer.h"
#include "tests/e2e/support/served.h"

namespace outbox::testing {
namespace {

using base::StrCat;
using service::TestClient;
using ::testing::HasSubstr;

class CrowdTest : public OnDialect {
 protected:
  using Crowd = std::vector<std::unique_ptr<TestClient>>;

  static Crowd Come(std::uint16_t port, std::size_t count) {
    Crowd crowd;
    for (std::size_t i = 0; i < count; ++i) crowd.push_back(std::make_unique<TestClient>(port));
    return crowd;
  }
  static int StatusAt(std::uint16_t port, const std::string& path) {
    return TestClient(port).Get(path).status;
  }
  static bool Deliver(Stage& stage) {
    const std::int64_t before = stage.Count("delivered");
    return Produce(stage.sql(), {.per_transaction = 10}, 2) &&
           WaitFor([&] { return stage.Count("delivered") == before + 20; });
  }
  static std::size_t OpenFiles(pid_t pid) {
    const std::filesystem::directory_iterator files(StrCat("/proc/", pid, "/fd"));
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }
  // Seconds of the processor that a process has used.
  static double Used(pid_t pid) {
    std::ifstream stat(StrCat("/proc/", pid, "/stat"));
    std::string word;
    double ticks = 0;
    for (int field = 1; field <= 15 && stat >> word; ++field) {
      if (field >= 14) ticks += std::atof(word.c_str());
    }
    return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  static void LimitFiles(pid_t pid, rlim_t files) {
    const rlimit limit{.rlim_cur = files, .rlim_max = 4096};
    ASSERT_EQ(prlimit(pid, RLIMIT_NOFILE, &limit, nullptr), 0);
  }
};
OUTBOX_ON_EVERY_DIALECT(CrowdTest);

TEST_P(CrowdTest, AThousandIdleConnectionsTouchNobodyElse) {
  constexpr std::size_t kMany = 1024;
  ASSERT_GE(service::RaiseFileLimit(kMany + 200), kMany + 200);
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const std::string sink = "file:" + stage->SinkFile("serve");
  // Once with an address for operators, once with all at one; with room for all, and without.
  for (const bool apart : {true, false}) {
    SCOPED_TRACE(apart);
    std::map<std::string, std::string> environment{{"OUTBOX_RELAY_SINK", sink},
                                                   {"OUTBOX_SERVICE_CONNECTIONS_PER_ADDRESS", "0"}};
    if (apart) environment.emplace("OUTBOX_SERVICE_ADMIN_LISTEN", "127.0.0.1:0");
    Served served(*stage, environment, apart ? 0 : 600);
    const Crowd crowd = Come(served.port(), kMany);
    for (const char* const path : {"/healthz", "/readyz", "/metrics"}) {
      EXPECT_TRUE(WaitFor([&] { return StatusAt(served.admin_port(), path) == 200; })) << path;
    }
    EXPECT_TRUE(WaitFor([&] { return StatusAt(served.port(), "/openapi.json") == 200; }));
    EXPECT_TRUE(Deliver(*stage));
    served.process().Signal(SIGTERM);
    EXPECT_EQ(served.process().Wait(kPatience), 0) << served.process().Errors();
    EXPECT_THAT(served.process().Errors(), ::testing::Not(HasSubstr("Too many open files")));
  }
}

TEST_P(CrowdTest, WithFewFilesThereAreFewerConnections) {
  constexpr std::size_t kFiles = 256;
  constexpr std::size_t kReserved = 20;
  ASSERT_GE(service::RaiseFileLimit(2 * kFiles), 2 * kFiles);
  OUTBOX_MAKE_STAGE(stage, GetParam());
  Served served(*stage,
                {{"OUTBOX_RELAY_SINK", "file:" + stage->SinkFile("serve")},
                 {"OUTBOX_SERVICE_ADMIN_LISTEN", "127.0.0.1:0"},
                 {"OUTBOX_SERVICE_CONNECTIONS_PER_ADDRESS", "0"}},
                kFiles);
  EXPECT_THAT(served.process().Errors(), HasSubstr("too few open files are allowed"));
  const Crowd tenants = Come(served.port(), kFiles), operators = Come(served.admin_port(), kFiles);
  std::size_t most = 0;
  const auto answers = [&](std::uint16_t port, const char* path) {
    return WaitFor([&] {
      most = std::max(most, OpenFiles(served.process().pid()));
      return StatusAt(port, path) == 200;
    });
  };
  EXPECT_TRUE(answers(served.admin_port(), "/readyz"));
  EXPECT_TRUE(answers(served.port(), "/openapi.json"));
  EXPECT_TRUE(Deliver(*stage));
  std::printf("most=%zu of %zu\n", most, kFiles);
  EXPECT_LT(most, kFiles - kReserved) << "the rest is for relays and the database";
}

TEST_P(CrowdTest, WithTooFewFilesItSaysHowManyAreNeeded) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  const auto run = [&](int files, const std::string& command) {
    return Process::Run(
        {"/bin/sh", "-c", StrCat("ulimit -n ", files, "; exec \"$0\" ", command), OUTBOXD_PATH},
        {.environment = {{"OUTBOX_DB", stage->url()},
                         {"OUTBOX_RELAY_TABLES", std::string(kTable)},
                         {"OUTBOX_RELAY_SINK", "null:"},
                         {"OUTBOX_SERVICE_LISTEN", "127.0.0.1:0"},
                         {"OUTBOX_SERVICE_AUTH_NONE", "true"}}});
  };
  const Finished serve = run(64, "serve");
  EXPECT_EQ(serve.exit_code, 1);
  EXPECT_THAT(serve.standard_error, HasSubstr("only 64 open files are allowed, and "));
  EXPECT_THAT(serve.standard_error, HasSubstr("ulimit -n "));
  EXPECT_THAT(serve.standard_error, HasSubstr("LimitNOFILE="));
  const std::string relay = StrCat("relay --drain --sink null: --table ", kTable);
  const Finished starved = run(16, relay);
  EXPECT_EQ(starved.exit_code, 1);
  EXPECT_THAT(starved.standard_error, HasSubstr("only 16 open files are allowed, and "));
  // As many as it asks for are enough.
  const auto needed = [](const Finished& refused) {
    const std::string& said = refused.standard_error;
    return std::atoi(said.c_str() + said.find("allowed, and ") + 13);
  };
  ASSERT_EQ(serve.exit_code + starved.exit_code, 2);
  ASSERT_GT(needed(starved), 16);
  EXPECT_EQ(run(needed(starved), relay).exit_code, 0);
  ASSERT_GT(needed(serve), 64);
  Served served(*stage, {{"OUTBOX_RELAY_SINK", "null:"}}, static_cast<std::size_t>(needed(serve)));
  EXPECT_EQ(StatusAt(served.port(), "/readyz"), 200);
  EXPECT_TRUE(Deliver(*stage));
}

// Neither is a core kept busy, nor does the service end, when accepting fails.
TEST_P(CrowdTest, WithoutAFileForAConnectionItWaits) {
  OUTBOX_MAKE_STAGE(stage, GetParam());
  Served served(*stage, {{"OUTBOX_RELAY_SINK", "null:"}});
  ASSERT_EQ(StatusAt(served.port(), "/healthz"), 200);
  const pid_t pid = served.process().pid();
  LimitFiles(pid, 3);
  const TestClient waiting(served.port());
  ASSERT_TRUE(waiting.connected()) << "by the kernel";
  const double before = Used(pid);
  const auto began = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::seconds(3));  // what is measured is what it uses of it
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
  const double used = Used(pid) - before;
  std::printf("used=%.2fs of %.2fs\n", used, passed.count());
  EXPECT_LT(used, passed.count() / 4);
  EXPECT_TRUE(served.process().Running());
  LimitFiles(pid, 1024);
  EXPECT_TRUE(WaitFor([&] { return StatusAt(served.port(), "/healthz") == 200; }));
  EXPECT_TRUE(WaitFor([&] { return StatusAt(served.port(), "/readyz") == 200; }));
}

}  // namespace
}  // namespace outbox::testing
