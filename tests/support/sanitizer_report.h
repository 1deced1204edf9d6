// SanitizerReports: what sanitizers find in the processes that a test starts, and in those that
// these start. Each report fails the test during which it was written, whatever became of the
// process: it may have been killed, or its exit code may interest nobody.
//
// Every test binary links this and has the listener from its start. Before the first test it makes
// a folder of the test process's own and names it in the environment, which children inherit; after
// each test it fails that test with every report in the folder, and at the end of all tests the run
// with those of processes that outlived theirs. The test process itself has read its options
// before: what is found in it goes to standard error and ends it.
//
// Threads: GoogleTest's own calls, on the main thread.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"

namespace outbox::testing {

class SanitizerReports final : public ::testing::EmptyTestEventListener {
 public:
  void OnTestProgramStart(const ::testing::UnitTest&) override;
  void OnTestEnd(const ::testing::TestInfo&) override;
  void OnTestIterationEnd(const ::testing::UnitTest&, int) override;
  void OnTestProgramEnd(const ::testing::UnitTest&) override;

 private:
  // What was written since the last call; the files are removed.
  std::vector<std::string> Take();

  std::optional<TempFolder> folder_;
};

}  // namespace outbox::testing
