// Tests that are run by sanitizer_report_test and by nobody else: with children that leave reports,
// and with children that do not.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/support/process.h"
#include "tests/support/wait.h"

namespace outbox::testing {
namespace {

// Writes what a sanitizer would, where it would.
constexpr const char* kReport =
    "echo provoked by $0 with $ASAN_OPTIONS >\"${ASAN_OPTIONS##*log_path=}.$$\"; ";

std::vector<std::string> Shell(const std::string& script, const std::string& name = "sh") {
  return {"sh", "-c", script, name};
}

// Started by one test, and at its work until the tests are over.
std::unique_ptr<Process> outliving;

class AtTheEnd final : public ::testing::Environment {
 public:
  void TearDown() override {
    if (outliving == nullptr) return;
    outliving->Signal(SIGTERM);
    outliving->Wait(kPatience);
  }
};
[[maybe_unused]] const auto* const at_the_end = ::testing::AddGlobalTestEnvironment(new AtTheEnd);

void AwaitOutput(const Process& process) {
  ASSERT_TRUE(WaitFor([&] { return !process.Output().empty(); }));
}

TEST(Children, WithoutAReport) {
  EXPECT_EQ(Process::Run(Shell("exit 0")).exit_code, 0);
  EXPECT_EQ(Process::Run(Shell("exit 3")).exit_code, 3);
}

TEST(Children, OneWithAReport) {
  EXPECT_EQ(Process::Run(Shell(std::string(kReport) + "exit 0", "one")).exit_code, 0);
}

TEST(Children, SeveralWithReports) {
  for (const char* name : {"one", "two", "three"}) Process::Run(Shell(kReport, name));
  Process::Run(Shell("exit 0", "four"));
}

TEST(Children, KilledWithoutAReport) {
  const auto process = Process::Start(Shell("echo up; exec sleep 600"));
  AwaitOutput(*process);
  process->Kill();
}

TEST(Children, KilledWithAReport) {
  const auto process =
      Process::Start(Shell(std::string(kReport) + "echo up; exec sleep 600", "the killed"));
  AwaitOutput(*process);
  process->Kill();
}

TEST(Children, GrandchildWithAReport) {
  Process::Run(Shell("sh -c '" + std::string(kReport) + "' grandchild; exit 0"));
}

TEST(Children, OneThatOutlivesItsTest) {
  outliving = Process::Start(
      Shell("trap '" + std::string(kReport) + "exit' TERM; echo up; while :; do sleep 0.01; done",
            "the last"));
  AwaitOutput(*outliving);
}

#if defined(OUTBOX_MISBEHAVE_PATH)
TEST(Children, UsesMemoryAfterFreeingIt) {
  Process::Run({OUTBOX_MISBEHAVE_PATH, "use-after-free"});
}
TEST(Children, LetsAnIntegerOverflow) { Process::Run({OUTBOX_MISBEHAVE_PATH, "overflow"}); }
TEST(Children, LeaksMemory) { Process::Run({OUTBOX_MISBEHAVE_PATH, "leak"}); }
TEST(Children, MakesNoMistake) { Process::Run({OUTBOX_MISBEHAVE_PATH}); }
#endif

}  // namespace
}  // namespace outbox::testing
