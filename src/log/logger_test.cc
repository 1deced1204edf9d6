#include "log/logger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/text.h"
#include "log/captured_log.h"

namespace outbox::log {
namespace {

using ::testing::MatchesRegex;

TEST(Logger, WritesLogfmtAndQuotesWhatNeedsIt) {
  CapturedLog log;
  Logger({}, log.fd())
      .Write(Level::kInfo, "relay started",
             {{"table", "public.t"}, {"why", "a \"b\"\nc=d"}, {"n", 3}, {"on", true}, {"no", ""}});
  EXPECT_THAT(log.text(),
              MatchesRegex("time=[-0-9:.TZ]+ level=info msg=\"relay started\" table=public.t "
                           "why=\"a .\"b.\".nc=d\" n=3 on=true\n"));
}

TEST(Logger, WritesJson) {
  CapturedLog log;
  Logger({.format = Format::kJson}, log.fd())
      .Write(Level::kError, "x", {{"text", "\x01\n"}, {"n", -1}, {"on", false}, {"no", ""}});
  const auto line = nlohmann::json::parse(log.text());
  EXPECT_EQ(line.at("level"), "error");
  EXPECT_EQ(line.at("msg"), "x");
  EXPECT_EQ(line.at("text"), "\x01\n");
  EXPECT_EQ(line.at("n"), -1);
  EXPECT_EQ(line.at("on"), false);
  EXPECT_FALSE(line.contains("no"));
}

TEST(Logger, LeavesOutLinesBelowItsLevel) {
  CapturedLog log;
  const Logger logger({.level = Level::kWarn}, log.fd());
  logger.Write(Level::kInfo, "quiet", {});
  logger.Write(Level::kWarn, "loud", {});
  EXPECT_EQ(log.text().find("quiet"), std::string::npos);
  EXPECT_NE(log.text().find("loud"), std::string::npos);
}

TEST(Logger, LinesOfManyThreadsDoNotMix) {
  constexpr int kThreads = 4;
  constexpr int kLines = 500;
  CapturedLog log;
  const Logger logger({.format = Format::kJson}, log.fd());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < kLines; ++i) logger.Write(Level::kInfo, "line", {{"number", i}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<std::string> lines = base::Split(log.text(), '\n');
  ASSERT_EQ(lines.size(), kThreads * kLines + 1u);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    EXPECT_TRUE(nlohmann::json::accept(lines[i])) << lines[i];
  }
}

TEST(Logger, NamesOfLevelsAndFormatsAreReadBack) {
  for (const Level level : {Level::kDebug, Level::kInfo, Level::kWarn, Level::kError}) {
    EXPECT_EQ(ParseLevel(ToString(level)), level);
  }
  EXPECT_EQ(ParseFormat("json"), Format::kJson);
  EXPECT_EQ(ParseFormat("logfmt"), Format::kLogfmt);
  EXPECT_FALSE(ParseLevel("loud"));
  EXPECT_FALSE(ParseFormat("xml"));
}

}  // namespace
}  // namespace outbox::log
