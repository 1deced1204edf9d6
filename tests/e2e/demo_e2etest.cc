// `outboxd demo`: the script that checks itself, and the live view driven through a real terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/postgres.h"
#include "tests/support/process.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A folder the demo makes its own in, so that what it leaves behind is seen.
class DemoTest : public ::testing::Test {
 protected:
  DemoTest() { std::filesystem::create_directories(folder_); }
  ~DemoTest() override { std::filesystem::remove_all(folder_); }

  Finished Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {OUTBOXD_PATH, "demo"});
    return Process::Run(arguments, {.environment = {{"TMPDIR", folder_}}});
  }

  bool LeftNothing() const { return std::filesystem::is_empty(folder_); }

  const std::string folder_ = ::testing::TempDir() + "outbox-demo-test." + std::to_string(getpid());
};

void ExpectGood(const nlohmann::json& summary) {
  EXPECT_TRUE(summary.at("ok").get<bool>());
  EXPECT_GT(summary.at("committed").get<int>(), 0);
  EXPECT_EQ(summary.at("committed"), summary.at("delivered"));
  EXPECT_GT(summary.at("rolled_back").get<int>(), 0);
  EXPECT_GT(summary.at("retried").get<int>(), 0);
  EXPECT_GE(summary.at("outages").get<int>(), 1);
  EXPECT_EQ(summary.at("lost"), 0);
  EXPECT_EQ(summary.at("phantoms"), 0);
  EXPECT_EQ(summary.at("attempts_wasted"), 0);
}

TEST_F(DemoTest, ScriptOnSqliteLosesNothingAndLeavesNothingBehind) {
  const Finished demo = Run({"--json"});
  ASSERT_EQ(demo.exit_code, 0) << demo.standard_output << demo.standard_error;
  ExpectGood(nlohmann::json::parse(demo.standard_output));
  EXPECT_TRUE(LeftNothing());
}

TEST_F(DemoTest, WithoutATerminalItTellsItsStory) {
  const Finished demo = Run({});
  ASSERT_EQ(demo.exit_code, 0) << demo.standard_output << demo.standard_error;
  EXPECT_THAT(
      demo.standard_output,
      AllOf(HasSubstr("the sink breaks"), HasSubstr("waiting for sink"),
            HasSubstr("the sink refuses some"), HasSubstr("ok: committed "), HasSubstr("lost 0")));
  EXPECT_THAT(demo.standard_error, IsEmpty());
}

TEST_F(DemoTest, ScriptOnPostgresRemovesItsTables) {
  OUTBOX_REQUIRE_POSTGRES();
  const std::string url = SharedPostgresUrl();
  const Finished demo = Run({"--json", "--db", url});
  ASSERT_EQ(demo.exit_code, 0) << demo.standard_output << demo.standard_error;
  ExpectGood(nlohmann::json::parse(demo.standard_output));
  const Finished left = Process::Run(
      {"psql", "-qAt", url, "-c", "SELECT tablename FROM pg_tables WHERE tablename ~ '^demo_'"});
  EXPECT_EQ(left.standard_output, "");
}

TEST_F(DemoTest, RefusesARateThatMakesNoSense) {
  const Finished demo = Run({"--rate", "0"});
  EXPECT_EQ(demo.exit_code, 2);
  EXPECT_THAT(demo.standard_error, HasSubstr("hint: "));
}

TEST_F(DemoTest, SaysWhyADatabaseCanNotBeUsed) {
  const Finished demo = Run({"--db", "sqlite:/nowhere/at/all/shop.db"});
  EXPECT_EQ(demo.exit_code, 1);
  EXPECT_THAT(demo.standard_error, HasSubstr("/nowhere/at/all/shop.db"));
}

// A demo in a tmux window of 80 by 24: real keys in, the real screen out.
class LiveDemoTest : public DemoTest {
 protected:
  void SetUp() override {
    if (Tmux({"-V"}).exit_code != 0) {
      if (std::getenv("CI") != nullptr) FAIL() << "no tmux in CI";
      GTEST_SKIP() << "no tmux";
    }
    // The shell stays after the demo, so that the restored screen can be read.
    const std::string shell = std::string("'") + OUTBOXD_PATH + "' demo; echo ended=$?; exec cat";
    ASSERT_EQ(Tmux({"new-session", "-d", "-x", "80", "-y", "24", "-e", "TMPDIR=" + folder_, "sh",
                    "-c", shell})
                  .exit_code,
              0);
  }
  void TearDown() override {
    Tmux({"kill-server"});
    std::filesystem::remove(folder_ + ".tmux");
    EXPECT_TRUE(testing::WaitFor([&] { return LeftNothing(); })) << "the demo has no terminal left";
  }

  Finished Tmux(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"tmux", "-S", folder_ + ".tmux", "-f", "/dev/null"});
    return Process::Run(arguments, {.environment = {{"LC_ALL", "C.UTF-8"}, {"TERM", "xterm"}}});
  }

  void Press(const std::string& keys) { Tmux({"send-keys", keys}); }
  std::string Screen() { return Tmux({"capture-pane", "-p"}).standard_output; }

  // Whether the screen shows all of these at last. A terminal may be looked at in the middle of a
  // picture.
  ::testing::AssertionResult Shows(const std::vector<std::string>& texts) {
    std::string screen;
    const bool shown = testing::WaitFor([&] {
      screen = Screen();
      return std::all_of(texts.begin(), texts.end(), [&](const std::string& text) {
        return screen.find(text) != std::string::npos;
      });
    });
    if (shown) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "at last:\n" << screen;
  }
};

TEST_F(LiveDemoTest, WaitsWhenBrokenGoesOnWhenMendedAndAddsUpAtTheEnd) {
  ASSERT_TRUE(Shows({"delivered ", "relay ● running", "q quit"}));
  Press("b");
  ASSERT_TRUE(Shows({"waiting for the sink: ", "sink ● down", "does not answer"}));
  Press("m");
  ASSERT_TRUE(Shows({"relay ● running", "sink ● working"}));
  Press("f");
  ASSERT_TRUE(Shows({"attempt 2", "sink ● refusing"}));
  Press("r");
  ASSERT_TRUE(Shows({"relay: stopped", "restart the relay"}));
  Press("q");
  EXPECT_TRUE(Shows({"ended=0", "ok: committed ", "lost 0"}));
  EXPECT_TRUE(LeftNothing());
}

TEST_F(LiveDemoTest, FollowsTheSizeOfTheWindow) {
  ASSERT_TRUE(Shows({"q quit", "relay"}));
  Tmux({"resize-window", "-x", "60", "-y", "20"});
  EXPECT_TRUE(Shows({"the demo needs 80x24"}));
  Tmux({"resize-window", "-x", "120", "-y", "40"});
  EXPECT_TRUE(Shows({"last messages", "q quit"}));
}

TEST_F(LiveDemoTest, RestoresTheScreenWhenItIsTerminated) {
  ASSERT_TRUE(Shows({"q quit", "relay"}));
  // The pane's process is the shell; the demo is its child.
  const std::string shell = Tmux({"display-message", "-p", "#{pane_pid}"}).standard_output;
  Process::Run({"pkill", "-TERM", "-P", shell.substr(0, shell.find('\n'))});
  EXPECT_TRUE(Shows({"ended=0", "ok: committed "}));
  EXPECT_THAT(Tmux({"display-message", "-p", "#{alternate_on} #{cursor_flag}"}).standard_output,
              HasSubstr("0 1"));
}

}  // namespace
}  // namespace outbox::testing
