#include "tests/support/sanitizer_report.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace outbox::testing {
namespace {

namespace fs = std::filesystem;

// The last value of an option holds, so whatever else was set stays.
void AddOption(const char* variable, const std::string& option) {
  const char* const before = std::getenv(variable);
  const std::string options = before == nullptr ? option : std::string(before) + ":" + option;
  setenv(variable, options.c_str(), 1);
}

[[maybe_unused]] const bool listening = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new SanitizerReports);
  return true;
}();

}  // namespace

void SanitizerReports::OnTestProgramStart(const ::testing::UnitTest&) {
  folder_.emplace();
  // Each process appends its id to the path.
  const std::string option = "log_path=" + folder_->File("report");
  for (const char* variable : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"}) {
    AddOption(variable, option);
  }
}

void SanitizerReports::OnTestEnd(const ::testing::TestInfo&) {
  for (const std::string& report : Take()) {
    ADD_FAILURE() << "a sanitizer's report from a process of this test:\n" << report;
  }
}

void SanitizerReports::OnTestIterationEnd(const ::testing::UnitTest&, int) {
  for (const std::string& report : Take()) {
    ADD_FAILURE() << "a sanitizer's report from a process that outlived its test:\n" << report;
  }
}

void SanitizerReports::OnTestProgramEnd(const ::testing::UnitTest&) { folder_.reset(); }

std::vector<std::string> SanitizerReports::Take() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder_->path())) files.push_back(entry.path());
  std::vector<std::string> reports;
  for (const fs::path& path : files) {
    std::ostringstream text;
    text << path.filename().string() << "\n" << std::ifstream(path, std::ios::binary).rdbuf();
    reports.push_back(text.str());
    fs::remove(path);
  }
  return reports;
}

}  // namespace outbox::testing
