// Negative control of SanitizerReports: a test whose child leaves a report must fail.
#include "tests/support/sanitizer_report.h"

#include <gmock/gmock.h>

#include "tests/support/process.h"

namespace outbox::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Finished RunSample(const std::string& tests, const ProcessOptions& options = {}) {
  return Process::Run({OUTBOX_CHILDREN_SAMPLE_PATH, "--gtest_filter=" + tests}, options);
}

TEST(SanitizerReport, ChildrenWithoutOneLeaveATestAlone) {
  const Finished finished = RunSample("Children.WithoutAReport:Children.KilledWithoutAReport");
  EXPECT_EQ(finished.exit_code, 0) << finished.standard_output;
  EXPECT_THAT(finished.standard_output, HasSubstr("[  PASSED  ] 2 tests"));
}

TEST(SanitizerReport, FailsTheTestOfItsProcessAndNoOther) {
  const Finished finished = RunSample("Children.OneWithAReport:Children.WithoutAReport");
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.standard_output,
              AllOf(HasSubstr("provoked by one"), HasSubstr("[  FAILED  ] Children.OneWithAReport"),
                    HasSubstr("[       OK ] Children.WithoutAReport")));
}

TEST(SanitizerReport, EachOfSeveralIsPrinted) {
  const Finished finished = RunSample("Children.SeveralWithReports");
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.standard_output,
              AllOf(HasSubstr("provoked by one"), HasSubstr("provoked by two"),
                    HasSubstr("provoked by three"), Not(HasSubstr("four"))));
}

TEST(SanitizerReport, OfAKilledProcessCounts) {
  const Finished finished = RunSample("Children.KilledWithAReport");
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.standard_output, HasSubstr("provoked by the killed"));
}

TEST(SanitizerReport, OfAChildsChildCounts) {
  const Finished finished = RunSample("Children.GrandchildWithAReport");
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.standard_output, HasSubstr("provoked by grandchild"));
}

TEST(SanitizerReport, OfAProcessThatOutlivesItsTestFailsTheRun) {
  const Finished finished = RunSample("Children.OneThatOutlivesItsTest");
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.standard_output,
              AllOf(HasSubstr("provoked by the last"), HasSubstr("outlived its test")));
}

TEST(SanitizerReport, OptionsThatWereSetStay) {
  const Finished finished =
      RunSample("Children.OneWithAReport",
                {.environment = {{"ASAN_OPTIONS", "detect_leaks=0:log_path=/nowhere/report"}}});
  EXPECT_THAT(
      finished.standard_output,
      HasSubstr("provoked by one with detect_leaks=0:log_path=/nowhere/report:log_path=/tmp"));
}

// The real thing, in builds with AddressSanitizer and UndefinedBehaviorSanitizer.
#if defined(OUTBOX_MISBEHAVE_PATH)
TEST(SanitizerReport, RealFindingsFailTheirTests) {
  EXPECT_THAT(RunSample("Children.UsesMemoryAfterFreeingIt").standard_output,
              AllOf(HasSubstr("heap-use-after-free"), HasSubstr("[  FAILED  ]")));
  EXPECT_THAT(RunSample("Children.LetsAnIntegerOverflow").standard_output,
              AllOf(HasSubstr("signed integer overflow"), HasSubstr("[  FAILED  ]")));
  EXPECT_THAT(RunSample("Children.LeaksMemory").standard_output,
              AllOf(HasSubstr("detected memory leaks"), HasSubstr("[  FAILED  ]")));
  EXPECT_EQ(RunSample("Children.MakesNoMistake").exit_code, 0);
}
#endif

}  // namespace
}  // namespace outbox::testing
